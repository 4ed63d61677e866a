"""W7: from nothing to a system that solves 90 % of 200 held-out test tasks at offset 100."""

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.cases import WORK, Bound, Case, Options, Side, Workload
from bench.commands import dualwm

TEST_SEED = 42


def cases(options: Options) -> Sequence[Case]:
    """One, and only when it is asked for: it takes as long as a training."""
    if not (options.long or options.quick):
        return []
    args = {"recipe": "tworoom/tiny" if options.quick else "tworoom/laptop", "tasks": 4 if options.quick else 200}
    side = Side(name="ours", call="bench.w7_from_nothing:everything", args={**args, "dev": options.quick})
    limits = (
        Bound(side="ours", fact="minutes", at_most=20.0),
        Bound(side="ours", fact="success", at_least=0.9),
        Bound(side="ours", fact="low_waiting_share", at_most=0.02),
        Bound(side="ours", fact="high_waiting_share", at_most=0.02),
    )
    return [Case(name="collect, train, evaluate", unit="system", sides=[side], goals=limits, repeats=1)]


def everything(recipe: str, tasks: int, dev: bool) -> Mapping[str, Any]:
    """The two commands a newcomer types. Evaluating on test tasks adds its line to the ledger, like any other."""
    place = WORK / "from-nothing"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    began = time.perf_counter()
    dualwm(place, "train", recipe, "--out", "system", "--data", "data")
    trained = time.perf_counter()
    seed = "1000" if dev else str(TEST_SEED)
    told = dualwm(place, "eval", "system", "--offset", "100", "--seeds", seed, "--num-tasks", str(tasks))
    seconds = time.perf_counter() - began
    facts = {"minutes": seconds / 60, "training_minutes": (trained - began) / 60, "success": told["success"]}
    return {"seconds": seconds, **facts, **waiting(place / "system" / "metrics.jsonl")}


def waiting(metrics: Path) -> dict[str, float]:
    """The share of each stage's time in which it waited for data."""
    lines = [json.loads(line) for line in metrics.read_text("utf-8").splitlines()]
    stages: dict[str, list[float]] = {}
    for line in lines:
        if line["kind"] == "train":
            stages.setdefault(line["stage"], []).append(line["waiting_share"])
    return {f"{stage}_waiting_share": sum(shares) / len(shares) for stage, shares in stages.items()}


WORKLOAD = Workload(
    name="W7",
    title="From nothing to 90 %",
    cases=cases,
    notes=(
        "`dualwm train tworoom/laptop` in an empty folder, which records its data first, then `dualwm eval` on 200 "
        "held-out test tasks. Run with --long. Its line goes to the ledger of test evaluations."
    ),
)
