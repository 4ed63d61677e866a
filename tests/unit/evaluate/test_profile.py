"""The difficulty profile, on a line where every floor's success can be said by hand."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import lake
import numpy as np
import pytest
from evaluate_toy import WORLD, IntegratorWorld, walks

from dualwm.cli.data import CollectArgs, ShowArgs, collect as collect_verb, show
from dualwm.data.collect import collect
from dualwm.data.collections import first_seed
from dualwm.envs.base import episodes, get_world
from dualwm.errors import ProtocolError
from dualwm.evaluate.floors import FLOORS, floors_for
from dualwm.evaluate.pool import build_pool
from dualwm.evaluate.profile import Profile, profile


def profiled(world: IntegratorWorld = WORLD, **options) -> Profile:
    pool = build_pool(
        "dev", walks(first_seed=500), world, offsets=(25, 50), min_pairs=30, min_episodes=40, paper_seeds=()
    )
    chosen = {"offsets": (25, 50), "num_tasks": 20, "variant": "plain"} | options
    return profile(world, pool, **chosen)


def test_every_rule_and_offset_has_its_row_with_the_floors_the_world_allows():
    found = profiled()
    assert [(row.rule, row.goal_offset_env_steps) for row in found.rows] == [
        ("near", 25), ("near", 50), ("nearer", 25), ("nearer", 50)
    ]  # fmt: skip
    assert list(found.rows[0].floors) == ["noop", "random", "oracle"]
    assert "oracle" not in floors_for(IntegratorWorld())
    assert floors_for(lake.WORLD) == ["noop", "random", "marginal", "replay"]


def test_standing_still_solves_nothing_and_the_expert_needs_the_largest_coordinate_in_steps():
    row = profiled(rules=("near",)).rows[0]
    assert row.floors["noop"].success == 0
    assert row.floors["oracle"].success == 1
    assert row.oracle_env_steps is not None
    assert row.facts["path_px"]["q50"] == pytest.approx(10 * row.displacement["q50"], abs=1e-3)
    assert row.displacement["q95"] / np.sqrt(2) - 1 <= row.oracle_env_steps["q95"] <= row.displacement["q95"] + 1


def test_the_share_already_solved_counts_the_pairs_and_not_the_tasks_drawn_from_them():
    still = walks(first_seed=500)
    still.z[:] = 0
    still.z[np.repeat(np.arange(len(still.rows)) % 2 == 1, still.rows)] = np.linspace(0, 400, still.rows[1::2].sum())[
        :, None
    ]
    pool = build_pool("dev", still, WORLD, offsets=(25,), min_pairs=30, min_episodes=40, paper_seeds=())
    row = profile(WORLD, pool, offsets=(25,), num_tasks=10, variant="plain", rules=("near",)).rows[0]
    assert row.already_solved == 0.5
    assert row.floors["noop"].n == 10
    assert row.floors["noop"].success == 0


def test_test_tasks_are_refused():
    with pytest.raises(ProtocolError, match="seeds of 1000 and above"):
        profiled(seeds=(42,))


def test_a_profile_is_printed_or_one_object_and_says_the_same_every_time(tmp_path, monkeypatch, capsys):
    tworoom = get_world("tworoom")
    store = collect(
        tworoom,
        tmp_path,
        record=partial(episodes, tworoom),
        episodes=40,
        seed=first_seed("dev", 0, 40),
        max_env_steps=200,
        collection="dev",
    )
    pool = build_pool("dev", store, tworoom, offsets=(25,), min_pairs=40, min_episodes=40, paper_seeds=())
    monkeypatch.setattr("dualwm.zoo.evaluation.pool_of", lambda world, collection: pool)
    args = ShowArgs(data=Path("tworoom"), profile=True, offsets=(25,), num_tasks=10, json=True)
    said = []
    for _ in range(2):
        assert show(args) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    (row,) = json.loads(said[0])["rows"]
    assert (row["rule"], row["tasks"], list(row["floors"])) == ("reach16", 10, list(FLOORS))
    assert row["floors"]["replay"]["success"] == row["floors"]["oracle"]["success"] == 1
    assert show(replace(args, json=False)) == 0
    assert "replay" in capsys.readouterr().out


def test_only_the_dev_collection_is_profiled(tmp_path, capsys):
    collect_verb(CollectArgs(world="tworoom", out=tmp_path / "set", episodes=3, max_env_steps=60))
    capsys.readouterr()
    with pytest.raises(ProtocolError, match="holds the collection 'train' of the world 'tworoom'"):
        show(ShowArgs(data=tmp_path / "set", profile=True))
