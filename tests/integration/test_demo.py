"""`dualwm demo` from one end to the other, with a system solved by hand in the shipped one's place."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from demo_toy import FRAME_SKIP, SETTINGS, WORLD, ToySystem
from evaluate_toy import IntegratorWorld
from needs import require_browser
from PIL import Image
from rich.console import Console

import dualwm
from dualwm.cli import demo
from dualwm.cli.demo import Args, choose_tasks, show
from dualwm.cli.demo_story import bank_spacing
from dualwm.cli.scene import plane
from dualwm.envs.tworoom_core import is_free
from dualwm.errors import RecipeError, SystemFolderError
from dualwm.evaluate.closed_loop import run as run_tasks
from tools.browser import browser, opened

SYSTEM = ToySystem()


def blob(file: Path) -> dict[str, Any]:
    text = file.read_text(encoding="utf-8")
    return json.loads(re.findall(r'<script type="application/json" id="story">(.*?)</script>', text, re.S)[0])


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One demo of eight tasks: what it returned, what it printed, what it wrote."""
    folder = tmp_path_factory.mktemp("demo")
    console = Console(file=io.StringIO(), width=80)
    result = show(SYSTEM, Args(out=folder / "demo.html", picture=folder / "demo.png"), console)
    told = console.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]
    return {"result": result, "told": told, "page": folder / "demo.html", "picture": folder / "demo.png"}


def test_the_tasks_are_the_first_into_the_other_room_whatever_becomes_of_them(shown):
    taskset, chosen = choose_tasks(SYSTEM, Args())
    crossing = [
        task.index for task in taskset.tasks if task.start[0] < 112 < task.goal[0] or task.goal[0] < 112 < task.start[0]
    ]
    assert chosen == crossing[:8]
    assert len(taskset.tasks) == 200
    result = shown["result"]
    assert result["taskset_digest"] == taskset.digest
    for planner in result["planners"].values():
        assert [row["task"] for row in planner["tasks"]] == chosen
    assert [task["index"] for task in blob(shown["page"])["tasks"]] == chosen


def test_the_toy_both_succeeds_and_fails_so_that_both_are_shown(shown):
    full, flat = (shown["result"]["planners"][name]["success"] for name in ("full", "low-only"))
    assert 0 < flat < full < 1


def test_outcomes_are_those_of_an_evaluation_of_the_same_taskset(shown):
    taskset, chosen = choose_tasks(SYSTEM, Args())
    evaluated = run_tasks(
        WORLD, SYSTEM.controller(), taskset, size=16, variant="snap", system="toy", weights_digest="", only=chosen[2:5]
    )
    rows = shown["result"]["planners"]["full"]["tasks"][2:5]
    assert [(o.task, o.success, o.steps) for o in evaluated.outcomes] == [
        (row["task"], row["success"], row["steps"]) for row in rows
    ]


def test_stages_are_told_as_they_happen_with_successes_and_what_to_do_next(shown):
    lines = shown["told"].splitlines()
    assert re.fullmatch(r"full +step +0 +route planned, refine +tasks 0 .*", lines[1])
    steps = [int(line.split()[2]) for line in lines if line.startswith("full")]
    assert steps == sorted(steps)
    assert any(re.match(r"full +step +75 +converge", line) for line in lines)
    for planner, result in shown["result"]["planners"].items():
        endings = [line for line in lines if line.startswith(planner) and ("reached" in line or "FAILED" in line)]
        assert len(endings) == 8
        assert sum("reached" in line for line in endings) == sum(row["success"] for row in result["tasks"])
    assert any("ms of planning per environment step" in line for line in lines)
    assert lines[-1].startswith("  dualwm eval tworoom --task tworoom --offset 100")


def test_the_page_stands_alone_and_is_small(shown):
    text = shown["page"].read_text(encoding="utf-8")
    assert len(text.encode()) == shown["result"]["bytes"] < 3_000_000
    taskset, _ = choose_tasks(SYSTEM, Args())
    for fact in (SYSTEM.weights_digest, taskset.digest, dualwm.__version__, "the first 8 of it"):
        assert fact in text


def test_what_was_imagined_is_shown_at_real_places_of_the_bank(shown):
    bank = {tuple(place) for place in np.round(SYSTEM.bank.states.astype(np.float64), 1).tolist()}
    walks = [walk for task in blob(shown["page"])["tasks"] for walk in task["walks"]]
    thoughts = [thought for walk in walks for thought in walk["thoughts"]]
    for thought in thoughts:
        for name in ("imagined", "subgoal", "route"):
            assert {tuple(point) for point in thought[name]["points"]} <= bank
        assert len(thought["subgoal"]["frames"]) == (thought["stage"] == "refine")
        assert len(thought["route"]["frames"]) == (4 if thought["stage"] == "refine" else 0)
    assert {thought["stage"] for thought in thoughts} == {"refine", "converge"}


def test_a_guided_decision_imagines_to_the_end_of_its_window_and_the_model_is_nearly_right(shown):
    data = blob(shown["page"])
    walks = [task["walks"][0] for task in data["tasks"]]
    guided = [thought for walk in walks for thought in walk["thoughts"] if thought["stage"] == "refine"]
    counts = {len(thought["imagined"]["frames"]) for thought in guided}
    assert counts == {1, 2, 3, 4, 5}
    nearest_step = [thought["gaps"][0] for thought in guided if thought["gaps"][0] is not None]
    # The toy model is a hundredth too fast; the rest is how coarse a bank of 400 frames is, and the mean of the elites.
    assert np.median(nearest_step) < 3 * bank_spacing(SYSTEM.bank)


def test_imagined_places_are_compared_with_where_the_agent_then_was(shown):
    for task in blob(shown["page"])["tasks"]:
        for walk in task["walks"]:
            for thought in walk["thoughts"]:
                for i, (place, gap) in enumerate(zip(thought["imagined"]["points"], thought["gaps"], strict=True)):
                    step = thought["env_step"] + FRAME_SKIP * (i + 1)
                    assert (gap is None) == (step > walk["steps"])
                    if gap is not None:
                        apart = np.hypot(*(np.array(place) - walk["path"]["points"][step]))
                        assert gap == pytest.approx(apart, abs=0.2)


def test_low_level_only_has_neither_route_nor_subgoal(shown):
    flat = [task["walks"][1] for task in blob(shown["page"])["tasks"]]
    assert {thought["stage"] for walk in flat for thought in walk["thoughts"]} == {"converge"}
    assert not any(thought["routed"] or thought["route"]["frames"] for walk in flat for thought in walk["thoughts"])


def test_paths_begin_at_the_start_and_end_within_reach_of_the_goal_if_they_succeeded(shown):
    data = blob(shown["page"])
    for task in data["tasks"]:
        for walk in task["walks"]:
            points = np.array(walk["path"]["points"])
            assert len(points) == len(walk["path"]["frames"]) == len(walk["to_go"]) == walk["steps"] + 1
            assert points[0].tolist() == task["start"]["points"][0]
            away = np.hypot(*(points[-1] - task["goal"]["points"][0]))
            assert (away < data["plane"]["goal_radius"]) == walk["success"]


def test_high_level_distance_orders_places_better_and_both_are_compared_with_the_true_path(shown):
    for task in blob(shown["page"])["tasks"]:
        truth, low, high = task["maps"]
        assert truth["rank_correlation"] is None
        assert 0.9 < high["rank_correlation"] <= 1
        assert low["rank_correlation"] < high["rank_correlation"]
        assert (low["low"], low["high"]) == (high["low"], high["high"])


def test_the_map_has_a_wall_where_the_agent_is_stopped_and_a_door_where_it_is_not():
    walls = plane().walls

    def inside(x: float, y: float) -> bool:
        return any(left <= x < left + width and top <= y < top + height for left, top, width, height in walls)

    for y in range(22, 203, 5):
        crossing = is_free(np.array([[60.0, float(y)]]), np.array([[170.0, float(y)]]))[0]
        assert inside(112.0, float(y)) == (not crossing)
    assert inside(12.0, 100.0)
    assert not inside(60.0, 100.0)


def test_a_reused_plan_shows_what_was_imagined_when_it_was_found(tmp_path):
    system = replace(SYSTEM, settings=replace(SETTINGS, final_reuse_decisions=3, guided_decisions=1))
    show(system, Args(out=tmp_path / "demo.html", tasks=1), Console(quiet=True))
    thoughts = blob(tmp_path / "demo.html")["tasks"][0]["walks"][0]["thoughts"]
    assert [thought["stage"] for thought in thoughts[1:5]] == ["converge", "reuse", "reuse", "converge"]
    found, *reused = (thought["imagined"]["frames"] for thought in thoughts[1:4])
    assert reused == [found[1:], found[2:]]
    assert thoughts[2]["best_cost"] == []


def test_the_picture_is_a_png(shown):
    with Image.open(shown["picture"]) as opened:
        assert opened.format == "PNG"


def test_json_is_one_object_and_nothing_else(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(dualwm, "load", {"toy": SYSTEM}.__getitem__)
    assert demo.run(Args(system="toy", out=tmp_path / "a.html", tasks=2, json=True)) == 0
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert err == ""
    assert result["out"] == str(tmp_path / "a.html")
    full = result["planners"]["full"]
    assert full["n"] == len(full["tasks"]) == 2
    assert full["success"] == sum(row["success"] for row in full["tasks"]) / 2
    assert full["ci95"][0] <= full["success"] <= full["ci95"][1]
    assert full["planning_ms_per_env_step"] > 0


def test_a_terminal_of_eighty_columns_shows_a_row_per_task(tmp_path):
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    show(SYSTEM, Args(out=tmp_path / "demo.html", tasks=3), console)
    told = console.file.getvalue().splitlines()  # pyright: ignore[reportAttributeAccessIssue]
    rows = [line for line in told if re.search(r"^ +\d+  R", line)][-3:]
    assert len(rows) == 3
    for row in rows:
        assert re.fullmatch(r" +\d+  [Rrc]+ (ok \d+|FAILED) +c+ (ok \d+|FAILED) *", row)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({"tasks": 0}, "at least one task"),
        ({"tasks": 199}, "lead into the other room"),
    ],
)
def test_an_impossible_number_of_tasks_is_refused(tmp_path, monkeypatch, args, says):
    monkeypatch.setattr(dualwm, "load", lambda name: SYSTEM)
    with pytest.raises(RecipeError, match=says):
        demo.run(Args(out=tmp_path / "demo.html", json=True, **args))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_to_write_to_is_refused_before_anything_is_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr(dualwm, "load", lambda name: pytest.fail("loaded"))
    with pytest.raises(RecipeError, match=r"is a folder"):
        demo.run(Args(out=tmp_path))


def test_a_system_of_another_world_is_refused(tmp_path):
    with pytest.raises(RecipeError, match="was trained in 'integrator'"):
        show(replace(SYSTEM, world=IntegratorWorld()), Args(out=tmp_path / "demo.html"), Console(quiet=True))


def test_a_system_without_a_bank_is_refused_before_it_plans(tmp_path, monkeypatch):
    def no_bank(self: ToySystem) -> None:
        raise SystemFolderError("no bank")

    class Bare(ToySystem):
        bank = property(no_bank)  # pyright: ignore[reportAssignmentType]

        def controller(self, *args: Any, **kwargs: Any) -> Any:
            pytest.fail("planned")

    with pytest.raises(SystemFolderError, match="no bank"):
        show(Bare(), Args(out=tmp_path / "demo.html"), Console(quiet=True))
    assert list(tmp_path.iterdir()) == []


def test_the_page_runs_in_a_browser(shown):
    require_browser()
    data = blob(shown["page"])
    with browser() as running, opened(running, f"{shown['page'].as_uri()}#2/1/40") as (page, complaints):
        assert page.locator("html[data-ready=yes]").count() == 1  # the script came to its end
        assert page.locator("[role=tab]").count() == 8
        assert f"Task {data['tasks'][2]['index']} · shortest path" in page.inner_text("#title")
        assert page.inner_text("#clock") == "step 40"
        assert page.locator("#maps image").count() == 3
        assert complaints == []
