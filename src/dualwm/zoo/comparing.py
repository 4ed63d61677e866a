"""`dualwm compare`: systems by name on identical TaskSets, shared among processes of this machine or of several."""

import multiprocessing
import os
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from dualwm.envs.base import World, get_world
from dualwm.errors import ControllerError
from dualwm.evaluate.closed_loop import Progress
from dualwm.evaluate.compare import Cell, Share, conclude, run_share
from dualwm.evaluate.floors import FLOORS, floors_for
from dualwm.evaluate.outcomes import RunFolder
from dualwm.evaluate.pool import PairPool
from dualwm.records import TaskSet
from dualwm.registry import to_plain
from dualwm.zoo.evaluation import Spec, entrant_of, floor_of, system_of, tasksets
from dualwm.zoo.provenance import session
from dualwm.zoo.system import System


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where one share of one system on one TaskSet stands."""

    share: str
    tasks_of_share: int
    """Tasks that this process found missing, of all systems."""
    system: str
    goal_offset_env_steps: int
    seed: int
    done: int
    worked: float
    """Tasks over, those under way counted in part."""
    successes: int
    planning_seconds: float
    env_steps: int


Tell = Callable[[Standing], None]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All that decides the outcomes of a comparison.

    Every floor and ceiling that the world has what it needs for takes part: every table shows them.
    """

    systems: tuple[str, ...]
    task: str = "tworoom"
    goal_offsets_env_steps: tuple[int, ...] = (100,)
    seeds: tuple[int, ...] = (0, 1, 42)
    num_tasks: int = 200
    protocol: str = "heldout"
    variant: str = ""
    rule: str | None = None

    @cached_property
    def specs(self) -> list[Spec]:
        """The systems, each once, in the order asked for; floors last where they were not asked for."""
        specs = [Spec.parse(name).of(self.world) for name in [*self.systems, *floors_for(self.world)]]
        return list({str(spec): spec for spec in specs}.values())

    @cached_property
    def world(self) -> World:
        """Where they act."""
        return get_world(self.task)

    @property
    def dynamics(self) -> str:
        """The variant of the world's dynamics; its first by default."""
        return self.variant or self.world.variants[0]

    @cached_property
    def loaded(self) -> dict[str, System]:
        """Every system once, however many variants of it take part."""
        return {spec.base: system_of(spec) for spec in self.specs if spec.base not in FLOORS}

    @cached_property
    def cells(self) -> list[Cell]:
        """Every system at every offset, all systems of an offset on the same TaskSets.

        What has no weights comes first: it is cheap, and what it lacks (an expert, say) is found at once.
        """
        pools: dict[str, PairPool] = {}
        sets = {
            offset: tuple(
                tasksets(
                    self.world,
                    goal_offset_env_steps=offset,
                    seeds=self.seeds,
                    num_tasks=self.num_tasks,
                    protocol=self.protocol,
                    rule=self.rule,
                    pools=pools,
                )
            )
            for offset in self.goal_offsets_env_steps
        }
        running = sorted(self.specs, key=lambda spec: spec.base not in FLOORS)
        return [self._cell(spec, offset, sets[offset]) for spec in running for offset in sets]

    def _cell(self, spec: Spec, offset: int, sets: tuple[TaskSet, ...]) -> Cell:
        if spec.base in FLOORS:
            return Cell(entrant=floor_of(spec, self.world, self.dynamics), tasksets=sets)
        return Cell(entrant=entrant_of(self.loaded[spec.base], spec, self.world, offset), tasksets=sets)

    def to_plain(self) -> dict[str, Any]:
        """What a run folder remembers and compares: the question, and the weights and settings it is asked of."""
        weights = {base: system.weights_digest for base, system in sorted(self.loaded.items())}
        asked = asdict(self) | {"systems": sorted(map(str, self.specs)), "variant": self.dynamics}
        return {"verb": "compare", **asked, "weights": weights, "settings": self.settings()}

    def settings(self) -> dict[str, dict[str, Any]]:
        """How every system plans, by offset: `planner.json` may be edited, and then it is another system."""
        found: dict[str, dict[str, Any]] = {}
        for spec in self.specs:
            for offset in self.goal_offsets_env_steps if spec.base in self.loaded else ():
                settings = self.loaded[spec.base].settings(spec.variant, offset, spec.overrides)
                found.setdefault(str(spec), {})[str(offset)] = to_plain(settings)
        return found


def compare(
    comparison: Comparison,
    out: Path,
    *,
    share: Share | None = None,
    workers: int = 1,
    threads: int | None = None,
    batch_size: int | None = None,
    timed_tasks: int = 20,
    ledger: Path | None = None,
    command: str = "",
    tell: Tell | None = None,
) -> bool:
    """Run what is missing of a share, by one process or by several; whether the folder is finished now.

    Whoever finds nothing missing in the whole folder concludes it: the ledger's lines and, alone on the machine as far
    as this program can tell, the measurement of planning time.
    """
    share = share or Share()
    folder = RunFolder.open(out, comparison.to_plain(), share.writer)
    if not folder.is_finished:
        folder.keep_provenance(session(command) | {"workers": workers, "settings": comparison.settings()})
    if workers > 1:
        _by_workers(comparison, out, share, workers, threads, batch_size, tell)
        finished = folder.outcomes().finish(_wanted(comparison.cells))
    else:
        finished = _run(comparison, out, share, batch_size, tell)
    if finished:
        cells, variant = comparison.cells, comparison.dynamics
        conclude(comparison.world, cells, folder, variant=variant, ledger=ledger, timed_tasks=timed_tasks)
    return finished


def _run(comparison: Comparison, out: Path, share: Share, batch_size: int | None, tell: Tell | None) -> bool:
    folder = RunFolder.open(out, comparison.to_plain(), share.writer)
    return run_share(
        comparison.world,
        comparison.cells,
        folder,
        share,
        variant=comparison.dynamics,
        batch_size=batch_size,
        on_progress=None if tell is None else _standing(share, tell),
    )


def _by_workers(
    comparison: Comparison,
    out: Path,
    share: Share,
    workers: int,
    threads: int | None,
    batch_size: int | None,
    tell: Tell | None,
) -> None:
    """Give every worker its part of the share and wait for all; a worker that fails ends the others."""
    assert comparison.cells  # a mistake is told here, once, and not by every worker
    context = multiprocessing.get_context("spawn")
    told: Any = context.Queue()
    each = threads or max(1, (os.cpu_count() or 1) // workers)
    bare = replace(comparison)  # without the systems it has loaded: every worker loads its own
    parts = [(bare, out, part, each, batch_size, told) for part in share.split(workers)]
    running = [context.Process(target=_work, args=part, daemon=True) for part in parts]
    failed: list[str] = []
    try:
        for process in running:
            process.start()
        while any(process.is_alive() for process in running) and not failed:
            _pass_on(told, tell)
            failed = [part[2].writer for part, process in zip(parts, running, strict=True) if process.exitcode]
    finally:
        for process in running:
            process.terminate()
            process.join()
    if failed:
        raise ControllerError(
            f"The workers {', '.join(failed)} ended before their tasks did; what went wrong stands above. What is "
            "finished is kept: type the command again to go on."
        )


def _work(comparison: Comparison, out: Path, share: Share, threads: int, batch_size: int | None, told: Any) -> None:
    """One worker process. It ends with the process that started it, however that one ends."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def end_with_parent() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    _run(comparison, out, share, batch_size, told.put)


def _pass_on(told: Any, tell: Tell | None) -> None:
    """Hand over what workers have told, waiting a little for the first."""
    try:
        while True:
            standing: Standing = told.get(timeout=0.2)
            if tell is not None:
                tell(standing)
    except queue.Empty:
        return


def _standing(share: Share, tell: Tell) -> Callable[[Cell, TaskSet, Progress, int], None]:
    def on_progress(cell: Cell, taskset: TaskSet, progress: Progress, left: int) -> None:
        tell(
            Standing(
                share=share.writer,
                tasks_of_share=left,
                system=cell.entrant.system,
                goal_offset_env_steps=taskset.goal_offset_env_steps,
                seed=taskset.seed,
                done=progress.done,
                worked=progress.worked,
                successes=progress.successes,
                planning_seconds=progress.timings.planning_seconds,
                env_steps=progress.timings.env_steps,
            )
        )

    return on_progress


def _wanted(cells: Sequence[Cell]) -> list[tuple[str, TaskSet]]:
    return [(cell.entrant.system, taskset) for cell in cells for taskset in cell.tasksets]
