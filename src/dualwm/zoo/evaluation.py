"""`dualwm.evaluate`: a system by name, its tasks by protocol, success with intervals and floors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import torch

from dualwm.data.collect import collect
from dualwm.data.collections import first_seed
from dualwm.data.store import Store
from dualwm.envs.base import World, episodes, get_world
from dualwm.errors import ProtocolError, RecipeError, did_you_mean
from dualwm.evaluate import ledger as ledgers
from dualwm.evaluate.cell import Entrant, evaluate_cell
from dualwm.evaluate.closed_loop import Progress
from dualwm.evaluate.floors import FLOORS, floor
from dualwm.evaluate.outcomes import RunFolder
from dualwm.evaluate.pool import PairPool, build_pool
from dualwm.evaluate.summary import Summary, same_cell
from dualwm.evaluate.tasks import check_difficulty, sample_taskset
from dualwm.records import NO_WEIGHTS, Outcome, TaskSet
from dualwm.registry import to_plain
from dualwm.zoo.provenance import session
from dualwm.zoo.system import System, asset_folder, load, shipped_systems

_SHORT = {"search": "low_search", "route_search": "high_search"}
DEV_SEED = 1000
"""Evaluation seeds from here on draw their tasks from the dev collection."""


@dataclass(frozen=True, kw_only=True)
class Spec:
    """`FLOOR | NAME | FOLDER`, each with `[:variant][:key=value...]`."""

    base: str
    variant: str = "full"
    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @staticmethod
    def parse(text: str) -> "Spec":
        """From the command line."""
        base, *words = text.split(":")
        overrides = {_SHORT.get(key, key): _value(value) for key, equals, value in map(_pair, words) if equals}
        variants = [word for word in words if "=" not in word]
        if not base or len(variants) > 1 or "" in words or "" in overrides:
            raise RecipeError(
                "A system is named FLOOR | NAME | FOLDER, each with [:variant][:key=value...], such as "
                f"tworoom:low-only or runs/a:search=192/30/20; found {text!r}."
            )
        return Spec(base=base, variant=variants[0] if variants else "full", overrides=overrides)

    def of(self, world: World) -> "Spec":
        """The same with the whole name of what is shipped for this world: `lewm` is `tworoom-lewm` in TwoRoom."""
        whole = f"{world.name}-{self.base}"
        return replace(self, base=whole) if whole in shipped_systems() else self

    def __str__(self) -> str:
        words = [] if self.variant == "full" else [self.variant]
        words += [f"{key}={value}" for key, value in sorted(self.overrides.items())]
        return ":".join([self.base, *words])


def _pair(word: str) -> tuple[str, str, str]:
    return word.partition("=")


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if text == "none":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def pool_of(world: World, collection: str, home: Path = Path("data")) -> PairPool:
    """The shipped pool of a world, or one built from a collection recorded (or found) below `home`.

    A pool is a function of its world, so both are the same where the machine and the libraries are.
    """
    shipped = asset_folder(world.name) / f"pool-{collection}.npz"
    return PairPool.load(shipped) if shipped.exists() else collection_pool(world, collection, home)


def collection_pool(world: World, collection: str, home: Path) -> PairPool:
    """The pool of a collection's first 1,000 episodes, recorded (or found) below `home`."""
    folder = home / f"{world.name}-{collection}"
    count = 1000
    store = collect(
        world,
        folder,
        record=lambda seeds, cap: episodes(world, seeds, cap),
        episodes=count,
        seed=first_seed(collection, 0, count),
        max_env_steps=200,
        collection=collection,
        command="dualwm eval",
    )
    return build_pool(collection, store, world)


def dev_pool(named: Path, offsets: Sequence[int]) -> tuple[World, PairPool]:
    """A world and the pool of its dev collection: named by the world, or by a data set of that collection."""
    if not named.is_dir():
        world = get_world(str(named))
        return world, pool_of(world, "dev")
    store = Store.open(named)
    if store.meta.collection != "dev" or not store.meta.world:
        raise ProtocolError(
            f"A difficulty profile is made of a world's dev collection; {named} holds the collection "
            f"{store.meta.collection or 'none'!r} of the world {store.meta.world or 'none'!r}. Name the world instead: "
            f"`dualwm data show {store.meta.world or 'WORLD'} --profile`."
        )
    world = get_world(store.meta.world)
    return world, build_pool("dev", store, world, offsets=offsets, paper_seeds=())


def tasksets(
    world: World,
    *,
    goal_offset_env_steps: int,
    seeds: Sequence[int],
    num_tasks: int,
    protocol: str,
    rule: str | None = None,
    pools: dict[str, PairPool] | None = None,
) -> list[TaskSet]:
    """One TaskSet per seed. Seeds of 1000 and above draw from dev, smaller ones from test.

    `pools` holds the world's pools by collection as far as they are known already, and those needed are added.
    """
    pools = {} if pools is None else pools
    chosen: list[TaskSet] = []
    if not seeds:
        raise RecipeError("An evaluation needs at least one seed, such as --seeds 1000 (dev) or --seeds 0 1 42 (test).")
    for seed in seeds:
        name = "dev" if seed >= DEV_SEED else "test"
        if name not in pools:
            pools[name] = pool_of(world, name)
        chosen.append(
            sample_taskset(
                pools[name],
                seed=seed,
                num_tasks=num_tasks,
                goal_offset_env_steps=goal_offset_env_steps,
                protocol=protocol,
                rule=rule,
            )
        )
    check_difficulty(chosen)
    return chosen


def entrant(spec: Spec, world: World, goal_offset_env_steps: int, variant: str) -> Entrant:
    """A floor or a system by its name, ready to enter an evaluation."""
    if spec.base in FLOORS:
        return floor_of(spec, world, variant)
    return entrant_of(system_of(spec), spec, world, goal_offset_env_steps)


def system_of(spec: Spec) -> System:
    """The loaded system that a specification names."""
    known = {**shipped_systems(), **dict.fromkeys(FLOORS)}
    if spec.base not in known and not Path(spec.base).exists():
        raise RecipeError(
            f"There is no floor, shipped system or folder named {spec.base!r}. {did_you_mean(spec.base, known)}"
        )
    return load(spec.base)


def check_weights(recorded: Outcome, found: str) -> None:
    """Refuse to go on about a recorded outcome with other weights than made it."""
    if recorded.weights_digest != found:
        raise ProtocolError(
            f"{recorded.system} was recorded with the weights {recorded.weights_digest[:12]}, and those found here are "
            f"{found[:12]}. Take the version that shipped the recorded weights, or evaluate anew."
        )


def floor_of(spec: Spec, world: World, variant: str) -> Entrant:
    """A floor or ceiling, ready to enter an evaluation."""
    if spec != Spec(base=spec.base):
        raise RecipeError(f"The floor {spec.base!r} has no variants and no settings; found {str(spec)!r}.")
    return Entrant(
        system=str(spec),
        weights_digest=NO_WEIGHTS,
        frame_size=8,
        threads=torch.get_num_threads(),
        precision="none",
        controller=lambda taskset: floor(spec.base, world, taskset, variant),
    )


def entrant_of(system: System, spec: Spec, world: World, goal_offset_env_steps: int) -> Entrant:
    """A loaded system, ready to enter an evaluation under the name of its specification."""
    if system.task["world"] != world.name:
        raise RecipeError(
            f"{spec.base} was trained in the world {system.task['world']!r} and cannot be evaluated in {world.name!r}. "
            f"Pass --task {system.task['world']}."
        )
    settings = system.settings(spec.variant, goal_offset_env_steps, spec.overrides)
    controller = system.controller(spec.variant, goal_offset_env_steps, **spec.overrides)
    return Entrant(
        system=str(spec),
        weights_digest=system.weights_digest,
        frame_size=system.image_size,
        threads=torch.get_num_threads(),
        precision=str(getattr(settings, "precision", "none")),
        settings=to_plain(settings),
        controller=lambda taskset: controller,
    )


def evaluate(
    system: str | System,
    task: str = "tworoom",
    *,
    goal_offset_env_steps: int = 100,
    seeds: Sequence[int] = (0, 1, 42),
    num_tasks: int = 200,
    protocol: str = "heldout",
    variant: str | None = None,
    rule: str | None = None,
    out: Path | None = None,
    ledger: Path | Literal["checkout"] | None = "checkout",
    batch_size: int | None = None,
    single_tasks: int = 3,
    command: str = "",
    on_progress: Callable[[TaskSet, Progress], None] | None = None,
    given: Sequence[TaskSet] = (),
) -> Summary:
    """Success of a system on matched tasks, with interval, floors and planning time.

    `system` is `FLOOR | NAME | FOLDER[:variant][:key=value...]` or a loaded System; `variant` and `rule` are the
    world's first unless they are named. Seeds below 1000 are test tasks, and each such evaluation adds its line to
    `ledger`: by default that of the checkout this package lies in, if it does. TaskSets that are `given` take the place
    of all that would choose them: world, offset, seeds, number, protocol and rule.
    """
    if given:
        first = same_cell(given)
        task, protocol, goal_offset_env_steps = first.world, first.protocol, first.goal_offset_env_steps
        seeds, num_tasks = [taskset.seed for taskset in given], len(first.tasks)
    world = get_world(task)
    variant = variant or world.variants[0]
    sets = list(given) or tasksets(
        world,
        goal_offset_env_steps=goal_offset_env_steps,
        seeds=seeds,
        num_tasks=num_tasks,
        protocol=protocol,
        rule=rule,
    )
    if isinstance(system, System):
        enters = entrant_of(system, Spec(base=system.name), world, goal_offset_env_steps)
    else:
        enters = entrant(Spec.parse(system).of(world), world, goal_offset_env_steps, variant)
    folder = None
    if out is not None:
        folder = RunFolder.open(
            out,
            {
                "task": task,
                "goal_offset_env_steps": goal_offset_env_steps,
                "seeds": list(seeds),
                "num_tasks": num_tasks,
                "protocol": protocol,
                "variant": variant,
                "system": enters.system,
                "rule": sets[0].rule,
                "weights_digest": enters.weights_digest,
                "settings": dict(enters.settings),
            },
        )
        if not folder.is_finished:
            settings = {enters.system: {str(goal_offset_env_steps): enters.settings}}
            folder.keep_provenance(session(command) | {"settings": settings})
    return evaluate_cell(
        world,
        enters,
        sets,
        variant=variant,
        folder=folder,
        batch_size=batch_size,
        ledger=ledgers.default_ledger() if ledger == "checkout" else ledger,
        single_tasks=single_tasks,
        on_progress=on_progress,
    )
