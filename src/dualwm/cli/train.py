"""`dualwm train`: a recipe into a System folder."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tyro.conf import Positional

from dualwm.cli.typed import typed
from dualwm.errors import RecipeError

if TYPE_CHECKING:
    from dualwm.zoo.training import Trained


@dataclass(frozen=True, kw_only=True)
class Args:
    """Train a recipe into a System folder. Interrupted or killed, the same command continues."""

    recipe: Positional[str]
    """WORLD/laptop, WORLD/paper or WORLD/tiny, such as tworoom/laptop; or FILE.py:FUNCTION, your own function that
    returns a Recipe."""
    out: Path | None = None
    """System folder to write; by default runs/RECIPE-SEED."""
    data: Path | None = None
    """Data set to train on as it is; it is only read. By default data/WORLD-train-EPISODES, recorded now as far as it
    is missing. A recipe without a world needs one."""
    seed: int = 0
    """Seed of weights, sample order and noise."""
    estimate: bool = False
    """Time 20 steps of every stage, print how long the whole would take and how much it needs, and stop. Nothing is
    recorded or written."""
    tensorboard: bool = False
    """Also write TensorBoard events (extra `tensorboard`)."""
    stop_after_minutes: float | None = None
    """Write a checkpoint and stop after this many minutes."""
    device: str = "auto"
    """cpu, cuda, mps, or auto: a GPU where there is one."""
    json: bool = False
    """Print one JSON object at the end; the progress is plain lines on standard error."""


def run(args: Args) -> int:
    """Train, or continue."""
    from dualwm.recipes import find_recipe
    from dualwm.train.distributed import speaks
    from dualwm.train.progress import Progress, on_stderr
    from dualwm.zoo.training import rehearse, train

    recipe = find_recipe(args.recipe)
    if args.data is None and not recipe.world:
        raise RecipeError(
            f"The recipe {recipe.name!r} has no world to record data in. Name a data set with --data; "
            "`dualwm data import` makes one of your recordings."
        )
    data = args.data or Path("data") / f"{recipe.world}-train-{recipe.episodes}"
    out = args.out or Path("runs") / f"{recipe.name.replace('/', '-')}-{args.seed}"
    record, progress = args.data is None, on_stderr() if args.json else Progress()
    if args.estimate:
        if speaks():
            estimate = rehearse(recipe, data, record=record, seed=args.seed, device=args.device, progress=progress)
            print(json.dumps(estimate.to_plain()) if args.json else estimate.text())
        return 0
    trained = train(
        recipe,
        out,
        data,
        record=record,
        seed=args.seed,
        command=typed(),
        tensorboard=args.tensorboard,
        stop_after_s=None if args.stop_after_minutes is None else args.stop_after_minutes * 60,
        progress=progress,
        device=args.device,
    )
    if speaks():
        _tell(args, recipe.world, out, trained)
    return 0 if trained.summary.finished else 3


def _tell(args: Args, world: str, out: Path, trained: "Trained") -> None:
    if args.json:
        print(json.dumps({"out": str(out), **asdict(trained.summary)}))
    elif trained.system is not None:
        evaluation = f"dualwm eval {out} --task {world} --offset 100 --seeds 1000"
        acting = f"dualwm.Planner(dualwm.load({str(out)!r}).controller()) in Python"
        print(f"System folder: {out}. Next: {evaluation if world else acting}")
