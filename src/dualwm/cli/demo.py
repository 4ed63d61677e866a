"""`dualwm demo`: watch a model plan through the doorway, and keep what happened as one page."""

import json
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tyro.conf import Positional

import dualwm
from dualwm.errors import RecipeError

if TYPE_CHECKING:
    from rich.console import Console

    from dualwm.cli.demo_story import System
    from dualwm.envs.tworoom import TwoRoom
    from dualwm.evaluate.closed_loop import Run
    from dualwm.evaluate.needs import Controller
    from dualwm.records import TaskSet
    from dualwm.report.story import Story

OFFSET_ENV_STEPS = 100
VARIANT = "snap"
"""The dynamics that results are reported on."""
TASKSET_SIZE = 200
"""The demo's tasks are the first of the TaskSet that results are reported on, so that both run the very same ones."""


@dataclass(frozen=True, kw_only=True)
class Args:
    """Watch a model plan from one room into the other, beside itself without its high level; writes one HTML page."""

    system: Positional[str] = "tworoom"
    """A shipped system, or a System folder trained in TwoRoom."""
    tasks: int = 8
    """How many tasks: the first of the TaskSet that lead into the other room, whatever becomes of them."""
    seed: int = 42
    """Evaluation seed of the TaskSet (protocol heldout, goal offset 100 environment steps)."""
    out: Path = Path("demo.html")
    """The page to write."""
    picture: Path | None = None
    """Also write a still picture of one task (PNG)."""
    json: bool = False
    """Print one JSON object, and nothing while it runs."""


def run(args: Args) -> int:
    """Load the system, run the demo, write the page, say what to do next."""
    from rich.console import Console

    _check(args)
    console = Console(quiet=args.json, highlight=False)
    console.print(f"Loading {args.system}", markup=False)
    # A cast, because pyright does not look through cached properties when it compares with a protocol.
    result = show(cast("System", dualwm.load(args.system)), args, console)
    if args.json:
        print(json.dumps(result))
    return 0


def show(system: "System", args: Args, console: "Console") -> dict[str, Any]:
    """The demo of a loaded system: what `--json` prints. `console` hears of everything as it happens."""
    from dualwm.cli.demo_story import PLANNERS, tell
    from dualwm.cli.scene import scene_of
    from dualwm.files import write_whole
    from dualwm.report.page import page

    world = _world(system)
    bank = system.bank  # said now, not after the planning, if there is none
    assert len(bank.states) == len(bank.low) == len(bank.high), "a bank has one row per frame"
    taskset, chosen = choose_tasks(system, args)
    console.print(_opening(taskset, chosen), markup=False, soft_wrap=True)
    controllers = {name: system.controller(variant=name, goal_offset_env_steps=OFFSET_ENV_STEPS) for name in PLANNERS}
    runs, ahead = play(system, controllers, taskset, chosen, console)
    facts = _facts(system, controllers, taskset, chosen)
    scene = scene_of(world, taskset.rule)
    story = tell(
        system, scene, taskset, runs, env_steps_per_prediction=ahead, facts=facts, title=_TITLE, intro=_intro(chosen)
    )
    write_whole(args.out, page(story))
    if args.picture is not None:
        from dualwm.report.still import still_png

        write_whole(args.picture, still_png(story))
    _close(story, args, console)
    return _plain(story, args, system.weights_digest, taskset)


def choose_tasks(system: "System", args: Args) -> "tuple[TaskSet, list[int]]":
    """The TaskSet, and the first of its tasks that lead into the other room: never chosen by what becomes of them."""
    from dualwm.evaluate.tasks import sample_taskset

    taskset = sample_taskset(
        system.pool("test"), seed=args.seed, num_tasks=TASKSET_SIZE, goal_offset_env_steps=OFFSET_ENV_STEPS
    )
    crossing = [task.index for task in taskset.tasks if task.facts.get("cross_room") == 1.0]
    if len(crossing) < args.tasks:
        raise RecipeError(
            f"--tasks {args.tasks}: of the {len(taskset.tasks)} tasks of seed {args.seed} {len(crossing)} lead into "
            "the other room. Ask for fewer, or for another seed."
        )
    return taskset, crossing[: args.tasks]


def play(
    system: "System",
    controllers: "Mapping[str, Controller]",
    taskset: "TaskSet",
    chosen: Sequence[int],
    console: "Console",
) -> "tuple[dict[str, Run], int]":
    """Run the chosen tasks under each controller, shown as it happens; the runs, and environment steps per decision."""
    from dualwm.cli.demo_screen import Screen, Watched
    from dualwm.cli.demo_story import PLANNERS
    from dualwm.evaluate.closed_loop import run as run_tasks

    runs: dict[str, Run] = {}
    chunk = 1
    with Screen(console, PLANNERS, [taskset.tasks[i] for i in chosen]) as screen:
        for name, controller in controllers.items():
            cameras = getattr(controller, "cameras", system.world.cameras)
            watched = Watched(controller, cameras, name, screen)
            runs[name] = run_tasks(
                system.world,
                watched,
                taskset,
                size=system.image_size,
                variant=VARIANT,
                system=system.name if name == "full" else f"{system.name}:{name}",
                weights_digest=system.weights_digest,
                only=chosen,
                keep_traces=True,
                keep_paths=True,
                on_finished=screen.listener(name),
            )
            chunk = watched.chunk_env_steps
    return runs, chunk


def _check(args: Args) -> None:
    """Say what cannot work before anything is loaded."""
    if args.tasks < 1:
        raise RecipeError(f"--tasks {args.tasks}: expected at least one task.")
    for path in filter(None, (args.out, args.picture)):
        if path.is_dir():
            raise RecipeError(
                f"{path} is a folder; expected the name of a file to write, such as {path / 'demo.html'}."
            )


def _world(system: "System") -> "TwoRoom":
    from dualwm.envs.tworoom import TwoRoom

    if not isinstance(system.world, TwoRoom):
        raise RecipeError(
            f"The demo shows the two rooms of TwoRoom, and {system.name} was trained in {system.world.name!r}. "
            f"Run `dualwm eval {system.name} --task {system.world.name}` to see how well it does there."
        )
    return system.world


_TITLE = "Planning through the doorway"


def _intro(chosen: Sequence[int]) -> str:
    return (
        f"On each of {len(chosen)} tasks a dual-latent world model is shown one picture of where it stands and one of "
        "a goal in the other room, and acts; beside it the same model acts on the same task without its high level. "
        "Whatever it imagined is shown as the real training frame whose latent is nearest to the predicted one, and "
        "failures stay in."
    )


def _opening(taskset: "TaskSet", chosen: Sequence[int]) -> str:
    return (
        f"{len(chosen)} tasks into the other room, the first of TaskSet {taskset.digest[:12]} "
        f"({taskset.world}, {taskset.protocol}, offset {taskset.goal_offset_env_steps}, seed {taskset.seed}); "
        f"budget {taskset.budget_env_steps} environment steps."
    )


def _close(story: "Story", args: Args, console: "Console") -> None:
    from dualwm.report.page import interval

    for planner in story.planners:
        rate, timed = planner.success, planner.planning_ms_per_env_step
        pace = "" if timed is None else f"; {timed:.1f} ms of planning per environment step"
        line = f"{planner.label:<20} {rate.successes} of {rate.n} tasks, {interval(rate)}{pace}"
        console.print(line, markup=False, soft_wrap=True)
    for path in filter(None, (args.out, args.picture)):
        console.print(f"Wrote {path} ({path.stat().st_size / 1e6:.1f} MB).", markup=False, soft_wrap=True)
    console.print(
        f"Open {args.out} in a browser. Next, more tasks, with floors and intervals:\n"
        f"  dualwm eval {shlex.quote(args.system)} --task tworoom --offset {OFFSET_ENV_STEPS} --seeds 1000 "
        "--num-tasks 20",
        markup=False,
        soft_wrap=True,
    )


def _facts(
    system: "System", controllers: "Mapping[str, Controller]", taskset: "TaskSet", chosen: Sequence[int]
) -> dict[str, str]:
    """What a reader of the page needs to repeat and to judge it."""
    import numpy as np
    import torch

    from dualwm.cli.demo_story import bank_spacing

    return {
        "command": shlex.join(["dualwm", *sys.argv[1:]]),
        "system": f"{system.name}, weights {system.weights_digest}",
        "TaskSet": f"{taskset.digest} ({taskset.world}, rule {taskset.rule}, protocol {taskset.protocol}, "
        f"seed {taskset.seed}, {len(taskset.tasks)} tasks)",
        "tasks shown": f"the first {len(chosen)} of it that lead into the other room, none left out: "
        + ", ".join(map(str, chosen)),
        "goal and budget": f"goals lie {taskset.goal_offset_env_steps} environment steps ahead in a recorded episode; "
        f"a task may take {taskset.budget_env_steps}",
        **_settings(controllers),
        "imagined frames": f"the nearest of {len(system.bank.states):,} training frames; a place in the rooms is "
        f"{bank_spacing(system.bank):.1f} px from the nearest of them in the median",
        "versions": f"dualwm {dualwm.__version__}, Python {platform.python_version()}, torch {torch.__version__}, "
        f"numpy {np.__version__}, {torch.get_num_threads()} threads",
    }


def _settings(controllers: "Mapping[str, Controller]") -> dict[str, str]:
    """The first planner's settings, and what the others change about them."""
    from dualwm.registry import to_plain

    told: dict[str, str] = {}
    first: dict[str, Any] = {}
    for name, controller in controllers.items():
        settings: dict[str, Any] = to_plain(getattr(controller, "settings", {}))
        changed = {key: value for key, value in settings.items() if not first or value != first.get(key)}
        told[f"planner {name}"] = ("the same, but " if first else "") + json.dumps(changed)
        first = first or settings
    return told


def _plain(story: "Story", args: Args, weights_digest: str, taskset: "TaskSet") -> dict[str, Any]:
    planners: dict[str, Any] = {}
    for number, planner in enumerate(story.planners):
        walks = {task.index: task.walks[number] for task in story.tasks}
        planners[planner.name] = {
            "success": planner.success.fraction,
            "ci95": planner.success.ci95,
            "n": planner.success.n,
            "planning_ms_per_env_step": planner.planning_ms_per_env_step,
            "tasks": [
                {"task": task, "success": walk.success, "steps": walk.steps, "distance": walk.closest}
                for task, walk in walks.items()
            ],
        }
    return {
        "out": str(args.out),
        "bytes": args.out.stat().st_size,
        "picture": None if args.picture is None else str(args.picture),
        "weights_digest": weights_digest,
        "taskset_digest": taskset.digest,
        "protocol": taskset.protocol,
        "seed": taskset.seed,
        "goal_offset_env_steps": taskset.goal_offset_env_steps,
        "budget_env_steps": taskset.budget_env_steps,
        "planners": planners,
    }
