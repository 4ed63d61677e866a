"""Published task sets in their own layouts, on a data set small enough to know every row of."""

import json
from pathlib import Path

import numpy as np
import pytest
from evaluate_toy import WORLD, walks

from dualwm.cli.main import main
from dualwm.data.collect import collect
from dualwm.envs.base import episodes, get_world
from dualwm.errors import ProtocolError
from dualwm.evaluate.manifests import read_manifest, tasks_of
from dualwm.evaluate.sampling import paper_rows
from dualwm.evaluate.tasks import load_taskset
from dualwm.records import TaskSet

SOURCE = walks()
EPISODE, START = 3, 7
ROW = int(SOURCE.first_rows[EPISODE]) + START
RELEASE = {
    "task": "integrator",
    "num_tasks": 2,
    "task_seed": 42,
    "offset_env_steps": 25,
    "dataset_rows": [0, ROW],
    "environment_seeds": [42, 43],
}
PAIR = {
    "pair_id": 0,
    "episode_id": EPISODE,
    "start_row": ROW,
    "start_step": START,
    "goal_row": ROW + 25,
    "goal_step": 32,
}
CLEAR = {
    "schema_version": "clear-lewm-manifest-v2",
    "benchmark_version": "v0.9",
    "task": "integrator",
    "seed": 1,
    "protocol": {"name": "moderate", "goal_offset": 25, "eval_budget": 50},
    "pairs": [{**PAIR, "initial_success": False}],
}


def made(tmp_path: Path, data: dict, source=SOURCE) -> TaskSet:
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps(data))
    return tasks_of(read_manifest(file), source, WORLD)


def test_rows_of_the_release_are_starts_and_the_rows_an_offset_later_goals(tmp_path: Path):
    taskset = made(tmp_path, RELEASE)
    assert (taskset.protocol, taskset.collection, taskset.seed) == ("dual-wm-release", "imported", 42)
    assert (taskset.goal_offset_env_steps, taskset.budget_env_steps) == (25, 50)
    first, second = taskset.tasks
    assert (first.env_seed, second.env_seed) == (42, 43)
    assert (second.episode, second.start_row) == (EPISODE, START)
    assert second.start == tuple(SOURCE.z[ROW])
    assert second.goal == tuple(SOURCE.z[ROW + 25])
    assert made(tmp_path, {**RELEASE, "budget_env_steps": 99}).budget_env_steps == 99


def test_pairs_of_clear_lewm_are_the_same_with_the_episodes_own_seed(tmp_path: Path):
    (task,) = made(tmp_path, CLEAR).tasks
    assert (task.episode, task.start_row, task.env_seed) == (EPISODE, START, int(SOURCE.seeds[EPISODE]))
    assert task.goal == tuple(SOURCE.z[ROW + 25])
    assert made(tmp_path, CLEAR).protocol == "clear-moderate-v0.9"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({**RELEASE, "dataset_rows": [0, 10**6]}, "this data set has"),
        ({**RELEASE, "dataset_rows": [0, int(SOURCE.first_rows[1]) - 25]}, "would leave their episode"),
        ({**RELEASE, "source_episode_indices": [0, EPISODE + 1]}, "lie in other episodes"),
        ({**CLEAR, "pairs": [{**PAIR, "initial_success": False, "episode_id": 9}]}, "lie in other episodes"),
        ({**RELEASE, "environment_seeds": [42]}, "1 values where 2 rows"),
        ({**CLEAR, "protocol": {**CLEAR["protocol"], "goal_offset": 30}}, "goal_offset 30"),
        ({"pairs": []}, "should be a task definition"),
    ],
)
def test_other_data_and_other_files_are_refused(tmp_path: Path, data: dict, says: str):
    with pytest.raises(ProtocolError, match=says):
        made(tmp_path, data)


def test_a_published_task_set_is_imported_and_evaluated_as_it_is_typed(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    world = get_world("tworoom")
    recorded = lambda seeds, cap: episodes(world, seeds, cap)  # noqa: E731
    store = collect(world, Path("theirs"), record=recorded, episodes=30, seed=0, max_env_steps=120)
    rows = paper_rows(store.rows, 50, seed=42, sample=6).tolist()
    data = {**RELEASE, "task": "tworoom", "offset_env_steps": 50, "dataset_rows": rows}
    Path("o50.json").write_text(json.dumps({**data, "environment_seeds": list(range(6))}))
    assert main(["data", "import-tasks", "o50.json", "--data", "theirs", "--out", "tasks.json", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    taskset = load_taskset(Path("tasks.json"))
    assert (facts["tasks"], facts["digest"]) == (6, taskset.digest)
    positions = store.read_rows("pos_agent", np.array(rows))
    assert [task.start for task in taskset.tasks] == [tuple(row) for row in positions.astype(float).tolist()]
    assert main(["eval", "oracle", "--tasks", "tasks.json", "--json", "--out", "run"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["success"], summary["n"], summary["protocol"]) == (1.0, 6, "dual-wm-release")
    assert summary["taskset_digest"] == taskset.digest
