"""Run the evaluations behind README's tables: `make headline`. What is finished is kept; killed, it continues.

Every cell is an ordinary `dualwm eval` with a folder of its own below results/. The rows of training seeds need their
System folders in runs/; where one is missing its cells are left out, and said so.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SAME_TIME = {"tworoom": "96/8/8"}
"""Search of low-level-only, by world, that plans at least as long as the whole system does. On TwoRoom's dev tasks of
offset 100 the system takes 1.15 times as long as low-level-only at its own 64/8/8; this takes 1.5 times."""

OTHER_RULE = {"reacher": "wrapped", "sokoban": "exact"}
"""Success beside the default, in a table of its own."""

FLOORS = ("noop", "marginal", "replay", "oracle")
TIMED_TASKS = 100
"""Planned in one batch for the planning time of a cell."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One command: a system at one offset."""

    system: str
    name: str
    """Of its folder."""
    offset: int
    task: str = "tworoom"
    protocol: str = "heldout"
    seeds: tuple[int, ...] = (0, 1, 42)
    num_tasks: int = 200
    variant: str = ""
    """Dynamics variant of the world; empty means its first."""
    rule: str = ""
    """Success rule of the world; empty means its first."""

    @property
    def folder(self) -> Path:
        kind = "-".join(word for word in (self.protocol, str(self.offset), self.variant, self.rule) if word)
        return Path("results") / self.task / kind / self.name

    @property
    def words(self) -> list[str]:
        """The command line, as a user would type it."""
        seeds = [str(seed) for seed in self.seeds]
        plan = ["--offset", str(self.offset), "--seeds", *seeds, "--num-tasks", str(self.num_tasks)]
        plan += ["--protocol", self.protocol, *(["--variant", self.variant] if self.variant else [])]
        plan += ["--rule", self.rule] if self.rule else []
        return ["eval", self.system, "--task", self.task, *plan, "--out", str(self.folder)]


def cells() -> Iterator[Cell]:
    """Every cell of every world that has shipped weights, the most important first."""
    from dualwm.zoo.system import shipped_systems

    yield from tworoom_cells()
    for world in ("reacher", "sokoban"):
        if world in shipped_systems():
            yield from world_cells(world)


def tworoom_cells() -> Iterator[Cell]:
    for offset in (100, 50, 25, 75):
        yield Cell(system="tworoom", name="dual-wm", offset=offset)
    for offset in (25, 50, 75, 100):
        yield Cell(system="tworoom", name="dual-wm", offset=offset, protocol="paper", seeds=(42,))
        for floor in FLOORS:
            yield Cell(system=floor, name=floor, offset=offset)
    for offset in (100, 50, 25):
        yield Cell(system="tworoom:low-only", name="low-only", offset=offset)
    for offset in (100, 50, 25):
        yield Cell(system=same_time("tworoom"), name="low-only-same-time", offset=offset)
    for seed in (1, 2):
        for offset in (100, 50, 25):
            yield Cell(system=f"runs/tworoom-laptop-{seed}", name=f"training-seed-{seed}", offset=offset)
    for offset in (100, 50):
        yield Cell(system="tworoom", name="dual-wm", offset=offset, variant="swept")
    yield from lewm_cells("tworoom")


def world_cells(world: str) -> Iterator[Cell]:
    for offset, seeds in ((100, (0, 1, 42)), (50, (0, 1, 42)), (25, (42,))):
        for system, name in ((world, "dual-wm"), (f"{world}:low-only", "low-only"), *((f, f) for f in FLOORS)):
            yield Cell(system=system, name=name, offset=offset, task=world, seeds=seeds)
        yield Cell(system=world, name="dual-wm", offset=offset, task=world, protocol="paper", seeds=(42,))
    for system, name in ((world, "dual-wm"), (f"{world}:low-only", "low-only")):
        yield Cell(system=system, name=name, offset=100, task=world, rule=OTHER_RULE[world])
    if world in SAME_TIME:
        yield Cell(system=same_time(world), name="low-only-same-time", offset=100, task=world)
    for offset in (100, 50):
        yield Cell(system=f"runs/{world}-laptop-1", name="training-seed-1", offset=offset, task=world)
    yield from lewm_cells(world)


def lewm_cells(world: str) -> Iterator[Cell]:
    """With our search, and with its own."""
    from dualwm.zoo.system import shipped_systems

    if f"{world}-lewm" not in shipped_systems():
        return
    for offset in (100, 50):
        for system, name in ((f"{world}-lewm", "lewm"), (f"{world}-lewm:paper", "lewm-own-search")):
            yield Cell(system=system, name=name, offset=offset, task=world)
            yield Cell(system=system, name=name, offset=offset, task=world, protocol="paper", seeds=(42,))


def same_time(world: str) -> str:
    return f"{world}:low-only:search={SAME_TIME[world]}"


def time_planning(cell: Cell) -> None:
    """Write the cell's planning time beside its outcomes, measured on dev tasks with nothing else running."""
    from dualwm.envs.base import get_world
    from dualwm.evaluate.planning_time import PlanningTimes
    from dualwm.zoo.evaluation import Spec, entrant, tasksets

    world = get_world(cell.task)
    (tasks,) = tasksets(
        world,
        goal_offset_env_steps=cell.offset,
        seeds=[1000],
        num_tasks=TIMED_TASKS,
        protocol="heldout",
        rule=cell.rule or None,
    )
    variant = cell.variant or world.variants[0]
    system = entrant(Spec.parse(cell.system), world, cell.offset, variant)
    PlanningTimes(ROOT / cell.folder).keep(world, system, tasks, variant, TIMED_TASKS)


def main() -> int:
    """Run what is missing, one cell at a time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="run only the folders whose path holds this text")
    parser.add_argument("--threads", type=int, help="threads of every evaluation")
    parser.add_argument("--planning", action="store_true", help="measure planning times of finished cells instead")
    args = parser.parse_args()
    more = [] if args.threads is None else ["--threads", str(args.threads)]
    for cell in cells():
        finished = (ROOT / cell.folder / "outcomes.jsonl").exists()
        if args.planning and finished and args.only in str(cell.folder) and cell.system not in FLOORS:
            print(f"{cell.folder}: planning time", flush=True)
            time_planning(cell)
        if args.planning or finished or args.only not in str(cell.folder):
            continue
        if cell.system.startswith("runs/") and not (ROOT / cell.system).exists():
            print(f"{cell.folder}: left out, {cell.system} is not here (dualwm train tworoom/laptop --seed N)")
            continue
        print("dualwm", *cell.words, flush=True)
        done = subprocess.run([sys.executable, "-m", "dualwm", *cell.words, *more], cwd=ROOT, check=False)
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
