"""W1b: the shipped search at the laptop's size, against the peer's modules built at the same sizes."""

from collections.abc import Sequence

from bench.cases import Bound, Case, Options, Ratio, Workload
from bench.w1_paper import score_sides, sides
from dualwm.recipes.tworoom import LAPTOP_PLANNER

SEARCH = {"size": "laptop", "candidates": 64, "iterations": 8, "elites": 8}
SHIPPED = {"correlation": 0.7, "clip": True, "tile_rows": LAPTOP_PLANNER["tile_rows"]}
"""What the shipped search does on top: coloured noise, clipped to the box, model calls in tiles of its size."""
TIMES = {1: 15, 10: 7, 200: 3}
"""Tasks in the batch: searches timed in each process."""
GOALS = (
    Ratio(ours="ours float32", other="peer float32", at_least=1.5),
    Ratio(ours="ours bfloat16", other="peer float32", at_least=3.5),
    Ratio(ours="ours bfloat16", other="peer bfloat16"),
)
SAME = (
    Bound(side="ours float32", fact="max_relative", at_most=1e-4),
    Bound(side="ours against peer", fact="max_relative", at_most=1e-4),
)


def cases(options: Options) -> Sequence[Case]:
    """1, 10 and 200 tasks, and the scores."""
    made = [Case(name="scores", unit="candidate", sides=score_sides("laptop", SEARCH), goals=SAME, repeats=1)]
    for tasks, times in TIMES.items():
        timed = {"timed_iterations": SEARCH["iterations"], "times": 1 if options.quick else times}
        name = "1 task" if tasks == 1 else f"{tasks} tasks"
        made.append(Case(name=name, unit="plan", sides=sides(tasks, SEARCH | SHIPPED | timed), goals=GOALS))
    return made


WORKLOAD = Workload(
    name="W1b",
    title="Low-level plan, laptop's size",
    cases=cases,
    notes=(
        "The shipped search, 64 candidates, 8 iterations and 8 steps, with the predictor of the laptop recipe and the "
        "terminal cost on both sides. The peer's predictor, head and action embedding are built at the same sizes and "
        "hold the same weights."
    ),
)
