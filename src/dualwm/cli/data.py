"""`dualwm data collect | show | check | import`: data sets from the command line."""

import json
import re
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tyro.conf import Positional

from dualwm.cli.typed import typed
from dualwm.errors import DataError

if TYPE_CHECKING:
    from dualwm.data.findings import Finding
    from dualwm.data.roles import Use

Geometry = tuple[str, int, int]
"""(name, frame_skip, low_steps) of the windows a recipe reads."""

_STORED_SIZE = 64
"""Side of stored pictures, where they are stored without having been asked for."""
_BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, kw_only=True)
class CollectArgs:
    """Record episodes of a world's behaviour. Interrupted, the same command continues."""

    world: Positional[str]
    """Name of the world, such as tworoom."""
    out: Path
    """Folder of the data set; made if it is missing."""
    episodes: int = 1000
    """How many episodes the folder should hold in the end."""
    collection: Literal["train", "dev", "test"] = "train"
    """Which range of seeds to record from. The three never meet."""
    seed: int = 0
    """Start this many seeds into the collection's range."""
    max_env_steps: int = 200
    """Cap on environment steps of an episode."""
    store_frames: int | None = None
    """Store pictures of this many pixels a side, where the world would draw them when they are read. By default only
    worlds that draw slowly do, of 64."""
    codec: Literal["raw", "zlib"] = "zlib"
    """How stored pictures are packed."""
    workers: int | None = None
    """Processes that record; all cores by default. It never changes a byte."""
    json: bool = False
    """Print one JSON object."""


@dataclass(frozen=True, kw_only=True)
class ShowArgs:
    """What a data set holds; with --profile, how hard the tasks of a world are before any model tries them."""

    data: Positional[Path]
    """Folder of the data set; with --profile the name of a world, or a data set of its dev collection."""
    profile: bool = False
    """Per offset: share already solved, success of noop, random, marginal, replay and oracle, and how far goals lie.
    Without a data set the dev collection is taken as shipped, or recorded below data/."""
    offsets: tuple[int, ...] = (25, 50, 75, 100)
    """Of the profile: goal offsets in environment steps."""
    seeds: tuple[int, ...] = (1000,)
    """Of the profile: evaluation seeds, 1000 or above (dev)."""
    num_tasks: int = 200
    """Of the profile: tasks per seed and offset."""
    variant: str = ""
    """Of the profile: dynamics variant of the world; empty means its first."""
    rules: tuple[str, ...] = ()
    """Of the profile: success rules of the world; all by default."""
    json: bool = False
    """Print one JSON object; a profile's belongs into results/WORLD/difficulty.json."""


@dataclass(frozen=True, kw_only=True)
class CheckArgs:
    """Look for what would spoil training. The exit code is 1 if there is an error."""

    data: Positional[Path]
    """Folder of the data set."""
    against: Path | None = None
    """Another data set that must share no episode with this one."""
    recipes: tuple[str, ...] = ()
    """Count the windows these recipes read too: names, or FILE.py:FUNCTION as `dualwm train` takes it. Those of the
    data's world are always counted."""
    windows: tuple[str, ...] = ()
    """Count windows of these shapes too: FRAME_SKIPxLOW_STEPS, such as 5x8."""
    every_episode: bool = False
    """Look at the pictures and checksums of every episode, not of 200."""
    json: bool = False
    """Print one JSON object."""


@dataclass(frozen=True, kw_only=True)
class ImportArgs:
    """Make a data set of npz or npy files, or of pictures with a CSV. Interrupted, the same command continues."""

    source: Positional[Path]
    """Folder with one .npz file per episode, or one folder per episode with .npy files or with pictures and a CSV."""
    out: Path
    """Folder of the data set; made if it is missing."""
    roles: tuple[str, ...] = ()
    """NAME=action, proprio, state, aux or skip, or NAME=pixels:CAMERA. What is not said is guessed and printed."""
    world: str = ""
    """Name of the world the episodes come from, where there is one."""
    action_leads: Literal["out", "in"] = "out"
    """out: a row's action is taken from its observation. in: it led to it."""
    discrete_actions: int | None = None
    """Number of choices, where actions are whole numbers that name a choice."""
    resize: tuple[int, int] | None = None
    """Height and width every picture is resized to."""
    codec: Literal["raw", "zlib"] = "raw"
    """How pictures are packed."""
    json: bool = False
    """Print one JSON object."""


def collect(args: CollectArgs) -> int:
    """Record episodes into a folder, or continue doing so."""
    from dualwm.data.collect import collect as record_into
    from dualwm.data.collections import first_seed
    from dualwm.data.crew import Crew, usable_cores
    from dualwm.envs.base import recorder, stores_pictures

    world, record = recorder(args.world)
    workers = usable_cores() if args.workers is None else args.workers
    if workers < 1:
        raise DataError(f"--workers should be at least 1, found {workers}.")
    seed = first_seed(args.collection, args.seed, args.episodes)
    started = time.perf_counter()
    with _progress(f"episodes of {args.world}") as progress:
        store = record_into(
            world,
            args.out,
            record=record,
            episodes=args.episodes,
            seed=seed,
            max_env_steps=args.max_env_steps,
            collection=args.collection,
            stored_size=args.store_frames or (_STORED_SIZE if stores_pictures(world) else None),
            codec=None if args.codec == "raw" else args.codec,
            command=typed(),
            crew=Crew(workers=workers, open=partial(recorder, args.world)),
            progress=progress,
        )
    facts = _summary(args.out, store) | {
        "collection": args.collection,
        "first_seed": seed,
        "seconds": round(time.perf_counter() - started, 2),
    }
    text = "{episodes:,} episodes, {rows:,} rows, {bytes:,} bytes in {out}; {seconds} s"
    if len(store) > args.episodes:
        text = (
            f"{{out}} holds {{episodes:,}} episodes already, more than {args.episodes:,}; none was recorded or removed."
        )
    _say(facts, args.json, lambda: print(text.format(**facts)))
    return 0


def show(args: ShowArgs) -> int:
    """Print what a data set holds."""
    from dualwm.data.describe import describe
    from dualwm.data.store import Store

    if args.profile:
        return _show_profile(args)
    facts = describe(Store.open(args.data))
    _say(facts, args.json, lambda: _print_description(facts))
    return 0


def _show_profile(args: ShowArgs) -> int:
    from dualwm.cli.profiling import print_profile
    from dualwm.evaluate.profile import profile
    from dualwm.zoo.evaluation import dev_pool

    world, pool = dev_pool(args.data, args.offsets)
    with _progress(f"offsets of {world.name}") as progress:
        found = profile(
            world,
            pool,
            offsets=args.offsets,
            seeds=args.seeds,
            num_tasks=args.num_tasks,
            variant=args.variant or world.variants[0],
            rules=args.rules,
            on_progress=progress,
        )
    if args.json:
        print(json.dumps(found.to_plain(), indent=1))
    else:
        print_profile(found)
    return 0


def check(args: CheckArgs) -> int:
    """Print everything worth saying about a data set; 1 if something must be repaired."""
    from dualwm.data.check import check as look
    from dualwm.data.store import Store

    store = Store.open(args.data)
    against = None if args.against is None else Store.open(args.against)
    wanted = [*_geometries_of_recipes(store.meta.world, args.recipes), *map(_geometry, args.windows)]
    findings = look(store, geometries=wanted, against=against, every_episode=args.every_episode)
    ok = all(found.level != "error" for found in findings)
    facts = {"ok": ok, "findings": [asdict(found) for found in findings]}
    _say(facts, args.json, lambda: _print_findings(findings))
    return 0 if ok else 1


def _geometries_of_recipes(world: str, named: Sequence[str]) -> list[Geometry]:
    """The windows every recipe of a world reads, and every recipe that was named, stage by stage."""
    from dualwm.recipes import find_recipe, recipe_names

    of_world = [recipe for recipe in map(find_recipe, recipe_names()) if world and recipe.world == world]
    recipes = {recipe.name: recipe for recipe in (*of_world, *map(find_recipe, named))}.values()
    return [
        (f"{recipe.name} {stage}", frame_skip, low_steps)
        for recipe in recipes
        for stage, frame_skip, low_steps in recipe.method.geometry()
    ]


def import_(args: ImportArgs) -> int:
    """Append a foreign folder's episodes to a data set."""
    from dualwm.data.importing import ImportSettings, import_folder

    settings = ImportSettings(
        roles=args.roles,
        world=args.world,
        action_leads=args.action_leads,
        discrete_actions=args.discrete_actions,
        resize=args.resize,
        codec=None if args.codec == "raw" else args.codec,
    )
    with _progress("episodes read") as progress:
        done = import_folder(args.source, args.out, settings, command=typed(), announce=_print_plan, progress=progress)
    facts = _summary(args.out, done.store) | {
        "imported": done.imported,
        "skipped": done.skipped,
        "columns": {use.spec.name: {"from": use.sources, "role": use.spec.role} for use in done.uses},
    }
    text = (
        "{imported:,} episodes imported, {skipped:,} were there; {out} holds {episodes:,} episodes, {rows:,} rows.\n"
        "Next: dualwm data check {out}"
    )
    _say(facts, args.json, lambda: print(text.format(**facts)))
    return 0


def _summary(out: Path, store: Any) -> dict[str, Any]:
    return {
        "out": str(out),
        "episodes": len(store),
        "rows": store.total_rows,
        "bytes": store.bytes,
        "digest": store.digest,
    }


def _geometry(words: str) -> Geometry:
    match = re.fullmatch(r"(\d+)x(\d+)", words)
    if match is None or not int(match[1]) or not int(match[2]):
        raise DataError(f"A window is said as FRAME_SKIPxLOW_STEPS, both at least 1, such as 5x8; found {words!r}.")
    return words, int(match[1]), int(match[2])


def _say(facts: dict[str, Any], as_json: bool, tell: Callable[[], None]) -> None:
    if as_json:
        print(json.dumps(facts))
    else:
        tell()


def _print_plan(uses: "Sequence[Use]") -> None:
    """Which array becomes what. Goes to standard error, so that --json stays one object."""
    for use in uses:
        print(use.line, file=sys.stderr)


def _print_findings(findings: "Sequence[Finding]") -> None:
    for found in findings:
        print(f"{found.level:<8} {found.text}")
    counts = {level: sum(found.level == level for found in findings) for level in ("error", "warning")}
    print(f"{counts['error']} errors, {counts['warning']} warnings")


def _print_description(facts: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("column", "role", "kind", "type", "row", "camera", "bytes")
    for column in facts["columns"]:
        row = " x ".join("any" if side < 0 else str(side) for side in column["shape"]) or "1"
        kind = f"{column['kind']} ({column['codec']})" if column["codec"] else column["kind"]
        cells = (column["name"], column["role"], kind, column["dtype"], row, column["camera"] or "")
        table.add_row(*cells, f"{column['bytes']:,}")
    print(f"{facts['path']}: {facts['episodes']:,} episodes, {facts['rows']:,} rows, {facts['bytes']:,} bytes")
    print(
        f"world {facts['world'] or 'none'}, collection {facts['collection'] or 'none'}, digest {facts['digest'][:16]}"
    )
    Console(width=max(80, Console().width)).print(table)
    lengths = facts["rows_per_episode"]
    if lengths:
        print(f"rows per episode  {lengths['min']} {_sparkline(lengths['histogram']['counts'])} {lengths['max']}")
        seeds = facts["seeds"]
        print(f"seeds             {seeds[0]} to {seeds[1]}" if seeds[0] >= 0 else "seeds             none")
    print(f"law               {json.dumps(facts['law'])}")
    print(f"made by           {json.dumps(facts['created'])}")


def _sparkline(counts: Sequence[int]) -> str:
    """Counts as bars; a bin with anything in it never looks empty."""
    top = max(counts)
    return "".join(_BARS[-(-count * (len(_BARS) - 1) // top)] for count in counts)


@contextmanager
def _progress(what: str) -> Generator[Callable[[int, int], None]]:
    """A function (done, total) that shows progress on standard error: a bar on a terminal, else a line per tenth."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(what)
            yield lambda done, total: bar.update(task, completed=done, total=total)
        return
    told = -1

    def tell(done: int, total: int) -> None:
        nonlocal told
        tenth = 10 * done // max(total, 1)
        if tenth > told:
            told = tenth
            print(f"{done:,} of {total:,} {what}", file=sys.stderr)

    yield tell
