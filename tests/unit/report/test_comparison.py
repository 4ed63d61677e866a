"""Two systems task by task, and the cross-task aggregate, on outcomes written down by hand."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from recorded_toy import outcomes_of, save

from dualwm.bootstrap import estimate
from dualwm.errors import ProtocolError
from dualwm.records import NO_WEIGHTS, Pace, PlanningTime
from dualwm.report.comparison import aggregate, by_task, compared, differences, key, mean_of_best
from dualwm.report.tables import Recorded, build_tables, read_runs
from dualwm.stats import paired


def recorded(*systems: tuple[str, str], **worlds: str) -> Recorded:
    """Each system's successes as words of 0 and 1, one per seed, in every world."""
    some = [
        outcome
        for world in worlds or {"tworoom": ""}
        for name, seeds in systems
        for outcome in outcomes_of(name, seeds, world=world)
    ]
    return Recorded(outcomes=tuple(some), planning={})


def test_the_first_system_is_set_against_every_other_at_every_offset():
    both = recorded(("ours", "1111 1110"), ("low", "1100 1010"), ("random", "0000 1000"))
    (part,) = compared(both, ["ours"]).parts
    assert [(duel.first[0], duel.second[0]) for duel in part.duels] == [("ours", "low"), ("ours", "random")]
    first = part.duels[0].tasks
    assert first == paired([True] * 7 + [False], [True, True, False, False, True, False, True, False])
    assert first.difference == 3 / 8


def test_tasks_are_matched_whatever_order_they_were_written_in():
    both = recorded(("ours", "1010 0110"), ("low", "0011 1100"))
    turned = Recorded(outcomes=both.outcomes[::-1], planning={})
    assert compared(both).parts[0].duels == compared(turned).parts[0].duels


def test_differences_are_resampled_within_seeds():
    both = recorded(("ours", "1111 0000"), ("low", "0000 0000"))
    (table,) = build_tables(both)
    (part,) = compared(both, ["ours"]).parts
    one, two = (by_task(both, table, 100, key(row)) for row in (build_tables(both, ["ours"])[0].rows))
    assert [values.tolist() for values in differences(one, two)] == [[1.0] * 4, [0.0] * 4]
    assert part.duels[0].seeds == estimate([differences(one, two)])
    # Two seeds that disagree wholly: tasks alone say "separated", seeds say that it may be nothing at all.
    assert part.duels[0].seeds.ci95 == (0.0, 1.0)


def test_the_sentence_names_both_and_holds_both_intervals():
    (part,) = compared(recorded(("ours", "1111 1111"), ("low", "0010 0100")), ["ours"]).parts
    told = part.duels[0].sentence()
    assert told.startswith("offset 100, ours against low: difference +75.0 points, 95 % interval ")
    assert ": separated (other seeds included: " in told
    assert re.search(r"McNemar p = 0\.031\)$", told)


def test_outcomes_on_different_tasks_never_share_a_table():
    some = [*outcomes_of("ours", "1111 1111"), *outcomes_of("low", "1111 111")]
    with pytest.raises(ProtocolError, match="different tasks never share a table"):
        compared(Recorded(outcomes=tuple(some), planning={}))


PAPER = {
    50: {
        "tworoom": {"LeWM": 61.5, "Gemini": 94.83, "Dual-WM": 99.33},
        "reacher": {"LeWM": 85.33, "INTACT": 92.33, "Dual-WM": 98.67},
        "sokoban": {"LeWM": 41.5, "Gemini": 52.0, "Dual-WM": 75.17},
        "pusht": {"LeWM": 56.0, "HWM": 78.0, "Dual-WM": 86.17},
        "cube": {"LeWM": 51.33, "DINO-WM": 62.17, "Dual-WM": 62.67},
    },
    100: {
        "tworoom": {"LeWM": 27.0, "Gemini": 90.0, "Dual-WM": 92.5},
        "reacher": {"LeWM": 75.67, "Gemini": 84.83, "Dual-WM": 93.3},
        "sokoban": {"LeWM": 16.33, "Gemini": 35.0, "Dual-WM": 52.33},
        "pusht": {"LeWM": 20.0, "HWM": 31.0, "Dual-WM": 41.33},
        "cube": {"LeWM": 54.17, "Fast-LeWM": 66.33, "Dual-WM": 67.83},
    },
}


@pytest.mark.parametrize(("offset", "lewm", "best", "ours"), [(50, 59.1, 75.9, 84.4), (100, 38.6, 61.4, 69.5)])
def test_the_aggregate_is_the_papers(offset: int, lewm: float, best: float, ours: float):
    def only(*names: str) -> dict[str, dict[str, float]]:
        return {world: {n: rates[n] for n in rates if n in names} for world, rates in PAPER[offset].items()}

    assert round(mean_of_best(only("LeWM"))[0], 1) == lewm
    assert round(mean_of_best(only("Dual-WM"))[0], 1) == ours
    found, chosen = mean_of_best(only("LeWM", "Gemini", "INTACT", "HWM", "DINO-WM", "Fast-LeWM"))
    assert round(found, 1) == best
    assert "LeWM" not in chosen.values()


def test_the_best_other_is_chosen_in_every_world_by_itself():
    some = [
        *outcomes_of("ours", "1111 1110", world="a"),
        *outcomes_of("flat", "1100 1100", world="a"),
        *outcomes_of("tree", "1000 1000", world="a"),
        *outcomes_of("ours", "1111 1111", world="b"),
        *outcomes_of("flat", "0000 0000", world="b"),
        *outcomes_of("tree", "1100 1000", world="b"),
    ]
    both = Recorded(outcomes=tuple(some), planning={})
    tables = build_tables(both)
    found = aggregate(both, tables, 100, {"a": "ours", "b": "ours"})
    assert found.chosen == {"a": "flat", "b": "tree"}
    assert found.best_other == (4 / 8 + 3 / 8) / 2
    assert found.ours.mean == (7 / 8 + 1) / 2
    assert found.difference.mean == pytest.approx(found.ours.mean - found.best_other)
    assert found.difference.ci95[0] <= found.difference.mean <= found.difference.ci95[1]
    fewer = aggregate(both, tables, 100, {"a": "ours", "b": "ours"}, others=["flat"])
    assert fewer.chosen == {"a": "flat", "b": "flat"}
    with pytest.raises(ProtocolError, match=r"missing: \['c'\]"):
        aggregate(both, tables, 100, {"a": "ours", "c": "ours"})
    with pytest.raises(ProtocolError, match="no other system"):
        aggregate(both, tables, 100, {"a": "ours"}, others=["nobody"])


def test_variants_of_our_own_weights_and_floors_are_no_others():
    some = [
        *outcomes_of("ours", "1100 1100"),
        *(replace(o, weights_digest="w-ours") for o in outcomes_of("ours:low-only", "1111 1111")),
        *(replace(o, weights_digest=NO_WEIGHTS) for o in outcomes_of("oracle", "1111 1111")),
        *outcomes_of("lewm", "1000 0000"),
    ]
    both = Recorded(outcomes=tuple(some), planning={})
    assert aggregate(both, build_tables(both), 100, {"tworoom": "ours"}).chosen == {"tworoom": "lewm"}


def test_a_run_folder_gives_planning_time_and_where_a_number_comes_from(tmp_path: Path):
    pace = Pace(mean_ms=3.0, p50_ms=2.0, p95_ms=5.0)
    measured = PlanningTime(
        system="ours", weights_digest="w-ours", goal_offset_env_steps=100, together=pace, alone=pace, tasks=4,
        tasks_alone=3, threads=1, precision="float32",
    )  # fmt: skip
    save(tmp_path, outcomes_of("ours", "11 10"), [measured])
    found = read_runs([tmp_path])
    (table,) = build_tables(found)
    cell = table.rows[0].cells[100]
    assert (cell.planning_ms_per_env_step, cell.timed) == (3.0, measured)
    assert set(found.sources) == {("ours", "w-ours", f"d{seed}-100-2") for seed in (0, 1)}
    assert set(found.sources.values()) == {tmp_path}
    assert json.loads(json.dumps(compared(found).to_plain()))[0]["rows"][0]["offsets"]["100"]["fraction"] == 3 / 4


def test_floors_of_older_folders_are_the_same_row(tmp_path: Path):
    floor = [replace(o, weights_digest=NO_WEIGHTS) for o in outcomes_of("random", "10 00")]
    save(tmp_path / "new", floor)
    save(tmp_path / "old", [replace(o, weights_digest="") for o in floor])
    (table,) = build_tables(read_runs([tmp_path / "new", tmp_path / "old"]))
    assert [(row.system, row.weights_digest) for row in table.rows] == [("random", NO_WEIGHTS)]
