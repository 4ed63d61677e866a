import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from evaluate_toy import WORLD, Homing, entrant, line_tasks

from dualwm.errors import DataError, ProtocolError
from dualwm.evaluate.cell import evaluate_cell
from dualwm.evaluate.floors import noop
from dualwm.evaluate.outcomes import RunFolder
from dualwm.records import Outcome, TaskSet, read_outcomes
from dualwm.report.markdown import markdown
from dualwm.report.readme import replace_block, update_readme
from dualwm.report.tables import Recorded, build_tables, ledger_notes, read_runs

DISTANCES = [-3, -12, 60, 7, -49, -51, 18, -20]


def record(
    out: Path, tasksets: Sequence[TaskSet], controller=None, system: str = "toy", weights: str = "w" * 64
) -> Path:
    evaluate_cell(
        WORLD, entrant(controller or Homing(), system, weights), tasksets, variant="plain", folder=RunFolder(path=out)
    )
    return out


def tasksets(offset: int, seeds: Sequence[int] = (0, 42), count: int = 8) -> list[TaskSet]:
    return [line_tasks(DISTANCES[:count], seed=seed, offset=offset) for seed in seeds]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("runs")
    return [
        record(root / "a25", tasksets(25)),
        record(root / "a50", tasksets(50)),
        record(root / "b25", tasksets(25), Homing(chunk=9, wobble=0.4), "bent"),
        record(root / "n25", tasksets(25), noop(WORLD), "noop"),
    ]


def test_a_table_has_systems_by_offset_with_floors_beside_them(folders: list[Path]):
    (table,) = build_tables(read_runs(folders), order=("toy", "bent"))
    assert [row.system for row in table.rows] == ["toy", "bent", "noop", "random"]
    assert list(table.tasks) == [25, 50]
    toy, bent, noop_row, floor = table.rows
    assert (toy.cells[25].success.successes, toy.cells[25].success.n) == (12, 16)
    assert (toy.cells[50].success.successes, toy.cells[50].success.n) == (16, 16)
    assert set(bent.cells) == {25}
    assert set(floor.cells) == {25, 50}
    assert noop_row.cells[25].success.successes == 0
    # In the other room and 100 px away or more: -12, -49, -51, -20; only -51 cannot be reached in 50 steps.
    assert (toy.cells[25].hard.successes, toy.cells[25].hard.n) == (6, 8)
    tasks = table.tasks[25]
    assert (tasks.n, tasks.seeds, tasks.budget_env_steps) == (16, (0, 42), 50)
    assert (tasks.initially_solved.fraction, tasks.hard.fraction) == (0.0, 0.5)
    assert tasks.path_px is not None
    assert tasks.path_px[1] == 190.0


def test_planning_time_comes_from_the_timings_beside_the_outcomes(tmp_path: Path):
    folder = record(tmp_path / "a", tasksets(25))
    sessions = json.loads((folder / "timings.json").read_text())
    for session in sessions["sessions"]:
        session |= {"planning_seconds": 3.0, "env_steps": 1000}
    (folder / "timings.json").write_text(json.dumps(sessions))
    (table,) = build_tables(read_runs([folder]))
    assert table.rows[0].system == "toy"
    assert table.rows[0].cells[25].planning_ms_per_env_step == 3.0
    assert "| `toy` | 3.0 |" in markdown(table)


@pytest.mark.parametrize("how", ["other seeds", "fewer tasks", "unfinished"])
def test_results_on_different_tasks_never_share_a_table(tmp_path: Path, how: str):
    mine = record(tmp_path / "a", tasksets(25))
    other = {"other seeds": tasksets(25, (0, 1)), "fewer tasks": tasksets(25, count=5), "unfinished": tasksets(25)}[how]
    yours = record(tmp_path / "b", other, noop(WORLD), "noop")
    if how == "unfinished":
        file = yours / "outcomes.jsonl"
        file.write_text("".join(file.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(ProtocolError, match="different tasks never share a table"):
        build_tables(read_runs([mine, yours]))


def test_protocols_and_rules_have_tables_of_their_own(tmp_path: Path):
    mine = record(tmp_path / "a", tasksets(25))
    paper = record(tmp_path / "b", [replace(t, protocol="paper") for t in tasksets(25)])
    nearer = record(tmp_path / "c", [replace(t, rule="nearer") for t in tasksets(25)])
    tables = build_tables(read_runs([mine, paper, nearer]))
    assert [(t.protocol, t.rule) for t in tables] == [("heldout", "near"), ("heldout", "nearer"), ("paper", "near")]


def test_the_same_run_may_stand_in_two_folders_but_two_results_of_one_task_may_not(tmp_path: Path):
    mine, twin = record(tmp_path / "a", tasksets(25)), record(tmp_path / "b", tasksets(25))
    assert build_tables(read_runs([mine, twin]))[0].rows[1].cells[25].success.n == 16
    worse = record(tmp_path / "c", tasksets(25), noop(WORLD))
    with pytest.raises(ProtocolError, match="two different outcomes"):
        build_tables(read_runs([mine, worse]))


def test_other_weights_of_a_system_are_another_row(tmp_path: Path):
    one = record(tmp_path / "a", tasksets(25), weights="1" * 64)
    two = record(tmp_path / "b", tasksets(25), noop(WORLD), weights="2" * 64)
    (table,) = build_tables(read_runs([one, two]))
    assert [row.weights_digest[:1] for row in table.rows if row.system == "toy"] == ["1", "2"]
    text = markdown(table)
    assert "| `toy` (weights 11111111) | 75.0 %" in text
    assert "| `toy` (weights 22222222) | 0.0 %" in text


def test_markdown_shows_rates_with_intervals_and_the_tasks_they_stand_on(folders: list[Path]):
    (table,) = build_tables(read_runs(folders), order=("toy",))
    text = markdown(table, {"toy": "the toy"})
    assert "**integrator**, protocol `heldout`, rule `near`, seeds 0, 42" in text
    assert "| success | offset 25 | offset 50 |" in text
    assert "| the toy | 75.0 % [50.5, 89.8] | 100.0 % [80.6, 100.0] |" in text
    assert "| `bent` |" in text
    assert "| – |" in text
    assert "| success, other room and path of 100 px or more | offset 25 | offset 50 |" in text
    assert "| tasks | 16 | 16 |" in text
    assert "| budget, environment steps | 50 | 75 |" in text
    assert "| solved at the start | 0.0 % | 0.0 % |" in text
    assert "not solved at the start" not in text
    widths = {line.count("|") for line in text.splitlines() if line.startswith("|")}
    assert widths == {4}


def test_tasks_solved_at_the_start_get_a_section_of_their_own(tmp_path: Path):
    folder = record(tmp_path, [line_tasks([0.2, 3, 200])], noop(WORLD))
    text = markdown(build_tables(read_runs([folder]))[0])
    assert "| solved at the start | 33.3 % |" in text
    assert "| success, not solved at the start | offset 25 |\n| --- | ---: |\n| `toy` |" in text
    assert "| `toy` | 0.0 % [0.0, 65.8] |" in text


def test_several_test_evaluations_of_one_system_are_named(folders: list[Path], tmp_path: Path):
    recorded, taskset = read_runs(folders), tasksets(25)[0]
    cell = {name: getattr(taskset, name) for name in ("world", "rule", "protocol", "goal_offset_env_steps", "seed")}
    line = cell | {"variant": "plain", "system": "toy", "weights_digest": "a" * 64, "settings_digest": "s"}
    line |= {"success": 0.5, "n": 8}
    ledger = tmp_path / "ledger.jsonl"
    assert ledger_notes(recorded, ledger) == []
    ledger.write_text(json.dumps(line) + "\n" + json.dumps(line | {"system": "bent"}) + "\n")
    assert ledger_notes(recorded, ledger) == []
    with ledger.open("a") as file:
        file.write(json.dumps(line | {"weights_digest": "b" * 64, "success": 0.75, "n": 4}) + "\n")
        file.write(json.dumps(line | {"weights_digest": "c" * 64, "seed": 7}) + "\n")
        file.write(json.dumps(line | {"weights_digest": "d" * 64, "variant": "icy"}) + "\n")
    (note,) = ledger_notes(recorded, ledger)
    assert note == (
        "`toy` was evaluated 2 times on test tasks of protocol heldout, offset 25, seed 0: "
        "50.0 % of 8 (weights aaaaaaaa), 75.0 % of 4 (weights bbbbbbbb)."
    )


def test_evaluations_with_the_same_result_share_a_sentence(folders: list[Path], tmp_path: Path):
    recorded, ledger = read_runs(folders), tmp_path / "ledger.jsonl"
    cells = sorted({(o.goal_offset_env_steps, o.seed) for o in recorded.outcomes if o.system == "toy"})
    line = {"world": "integrator", "rule": "near", "protocol": "heldout", "variant": "plain", "system": "toy"}
    line |= {"weights_digest": "a", "settings_digest": "s", "success": 0.5, "n": 8}
    lines = [json.dumps(line | {"goal_offset_env_steps": offset, "seed": seed}) for offset, seed in cells]
    ledger.write_text("\n".join([*lines, *lines]) + "\n")
    (note,) = ledger_notes(recorded, ledger)
    assert note.startswith(
        "`toy` was evaluated 2 times on test tasks of integrator near, protocol heldout, with the same"
    )


def test_weights_that_were_evaluated_under_another_name_are_named_too(tmp_path: Path):
    sets = tasksets(25, seeds=[0])
    folder = RunFolder(path=tmp_path / "run")
    planned = replace(entrant(Homing(), "shipped", "w" * 64), settings={"search": "64/8/8"})
    ledger = tmp_path / "ledger.jsonl"
    evaluate_cell(WORLD, replace(planned, system="runs/a"), sets, variant="plain", ledger=ledger)
    evaluate_cell(
        WORLD, replace(planned, settings={"search": "9/9/9"}, system="b"), sets, variant="plain", ledger=ledger
    )
    evaluate_cell(WORLD, planned, sets, variant="plain", folder=folder, ledger=ledger)
    (note,) = ledger_notes(read_runs([folder.path]), ledger)
    assert note.startswith("`shipped` was evaluated 2 times")


def test_what_is_no_finished_run_is_refused(tmp_path: Path):
    with pytest.raises(ProtocolError, match=r"file outcomes\.jsonl, found none"):
        read_runs([tmp_path])
    (tmp_path / "outcomes.jsonl").write_text("{}\n")
    with pytest.raises(ProtocolError, match="line 1"):
        read_runs([tmp_path])
    (tmp_path / "outcomes.jsonl").write_text("")
    (tmp_path / "timings.json").write_text("[]")
    with pytest.raises(ProtocolError, match=r"timings\.json"):
        read_runs([tmp_path])


def test_tables_of_nothing_are_none():
    assert build_tables(Recorded(outcomes=(), planning={})) == []


README = "# title\n\n<!-- results:begin -->\nold\n<!-- results:end -->\n\nend\n"


def test_only_the_marked_block_is_replaced(tmp_path: Path):
    path = tmp_path / "README.md"
    path.write_text(README)
    assert update_readme(path, "| a |\n")
    assert path.read_text() == "# title\n\n<!-- results:begin -->\n| a |\n<!-- results:end -->\n\nend\n"
    assert not update_readme(path, "| a |\n")
    assert update_readme(path, "old")
    assert path.read_text() == README


@pytest.mark.parametrize(
    "text", ["", README + README, README.replace("begin", "start"), "<!-- results:end --><!-- results:begin -->"]
)
def test_a_text_without_exactly_one_block_is_refused_and_left_alone(tmp_path: Path, text: str):
    with pytest.raises(DataError, match="results:begin"):
        replace_block(text, "results", "new")
    path = tmp_path / "README.md"
    path.write_text(text)
    with pytest.raises(DataError, match=r"README\.md"):
        update_readme(path, "new")
    assert path.read_text() == text
    with pytest.raises(DataError, match="no such file"):
        update_readme(tmp_path / "other.md", "new")


def test_outcomes_are_read_and_tabled_without_torch(folders: list[Path]):
    program = (
        "import sys; from pathlib import Path\n"
        "from dualwm.report.markdown import markdown; from dualwm.report.tables import build_tables, read_runs\n"
        "text = markdown(build_tables(read_runs([Path(sys.argv[1])]))[0]); assert '`toy`' in text\n"
        "assert not {'torch', 'gymnasium', 'dualwm.evaluate'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program, str(folders[0])], check=True, timeout=60)


def test_an_outcome_line_holds_everything_and_reads_back(folders: list[Path]):
    outcomes = read_outcomes(folders[0] / "outcomes.jsonl")
    assert [Outcome.from_json(o.to_json()) for o in outcomes] == outcomes
