"""W1: a low-level plan at the paper's size, against the published LeWM modules and CEM with the same weights."""

from collections.abc import Sequence
from typing import Any

from bench.cases import Bound, Case, Options, Ratio, Side, Workload
from bench.models import low_sizes, recipe_of, weights_file

PRECISIONS = ("float32", "bfloat16")
CANDIDATES, ITERATIONS, ELITES, HORIZON = 300, 30, 30, 8


def cases(options: Options) -> Sequence[Case]:
    """1 and 10 tasks, and the scores."""
    size = "tiny" if options.quick else "paper"
    count, elites = (20, 5) if options.quick else (CANDIDATES, ELITES)
    budget = {"size": size, "candidates": count, "iterations": ITERATIONS, "elites": elites}
    alone, many = ({"timed_iterations": n} for n in ((2, 1) if options.quick else (ITERATIONS, 3)))
    goals = (
        Ratio(ours="ours float32", other="peer float32", at_least=1.5),
        Ratio(ours="ours bfloat16", other="peer float32", at_least=4.0),
        Ratio(ours="ours bfloat16", other="peer bfloat16", at_least=1.8),
        Bound(side="ours float32", fact="share_of_rate", at_least=0.8),
        Bound(side="ours bfloat16", fact="share_of_rate", at_least=0.45),
    )
    return [
        Case(name="scores", unit="candidate", sides=score_sides(size, budget), goals=SCORE_GOALS, repeats=1),
        Case(name="1 task", unit="plan", sides=sides(1, budget | alone), goals=goals, repeats=3),
        Case(name="10 tasks", unit="plan", sides=sides(10, budget | many), goals=goals, repeats=3),
    ]


def sides(tasks: int, search: dict[str, Any]) -> list[Side]:
    """Ours and the peer, in both precisions."""
    args = {**search, "tasks": tasks, "horizon": HORIZON}
    ours = {"tile_rows": search["candidates"], **args}
    return [
        *(
            Side(name=f"ours {p}", call="bench.plans:ours", args={**ours, "precision": p}, precision=p)
            for p in PRECISIONS
        ),
        *(
            Side(
                name=f"peer {p}",
                call="bench.peers.planning:search",
                args=for_peer(args) | {"precision": p},
                precision=p,
                peer=True,
            )
            for p in PRECISIONS
        ),
    ]


def for_peer(args: dict[str, Any]) -> dict[str, Any]:
    """Sizes and a weights file instead of the name of a size; nothing that the peer's search does not know."""
    ours_alone = ("size", "tile_rows", "correlation", "clip")
    theirs = {name: value for name, value in args.items() if name not in ours_alone}
    sizes = low_sizes(recipe_of(args["size"]).method)
    return {**theirs, "sizes": sizes, "weights": str(weights_file(args["size"]))}


def score_sides(size: str, search: dict[str, Any]) -> list[Side]:
    """The peer leaves its scores, ours are compared with them; so is our bfloat16 with our float32."""
    fixed = {"candidates": search["candidates"], "horizon": HORIZON}
    peer = {**for_peer({**fixed, "size": size}), "out": f"{size}-peer"}
    ours = {**fixed, "size": size, "elites": search["elites"]}
    compare = "bench.plans:ours_scores"
    return [
        Side(name="weights", call="bench.models:export", args={"size": size}),
        Side(name="peer float32", call="bench.peers.planning:scores", args=peer, peer=True),
        Side(name="reference", call="bench.plans:plain_scores", args=ours),
        Side(name="ours float32", call=compare, args={**ours, "precision": "float32", "other": "reference"}),
        Side(name="ours against peer", call=compare, args={**ours, "precision": "float32", "other": "peer"}),
        Side(name="ours bfloat16", call=compare, args={**ours, "precision": "bfloat16", "other": "reference"}),
    ]


SCORE_GOALS = (
    Bound(side="ours float32", fact="max_relative", at_most=1e-4),
    Bound(side="ours against peer", fact="max_relative", at_most=1e-4),
    Bound(side="ours bfloat16", fact="rank_correlation", at_least=0.999),
    Bound(side="ours bfloat16", fact="elite_overlap", at_least=0.95),
)

WORKLOAD = Workload(
    name="W1",
    title="Low-level plan, paper's size",
    cases=cases,
    notes=(
        "A search of 300 candidates, 30 iterations and 8 steps from one observed latent to a goal latent, with the "
        "same random weights on both sides; images are not encoded. Seconds are per task. The 10 tasks are timed over "
        "3 of the 30 iterations, which all do the same work. The peer plans all tasks in one batch, in inference mode."
    ),
)
