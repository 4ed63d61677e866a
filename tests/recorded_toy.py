"""Outcomes written down by hand, for tests of whatever reads records."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from dualwm.records import Outcome, PlanningTime


def outcomes_of(
    system: str, successes: str, *, world: str = "tworoom", offset: int = 100, protocol: str = "heldout"
) -> list[Outcome]:
    """One word of 0 and 1 per seed, one figure per task. Words of another length are other TaskSets."""
    return [
        Outcome(
            system=system,
            weights_digest=f"w-{system}",
            settings_digest="s",
            variant="snap",
            taskset_digest=f"d{seed}-{offset}-{len(word)}",
            world=world,
            rule="reach16",
            protocol=protocol,
            goal_offset_env_steps=offset,
            budget_env_steps=offset + 25,
            seed=seed,
            task=task,
            success=flag == "1",
            initially_solved=False,
            steps=40 + task if flag == "1" else offset + 25,
            distance=3.5,
            decisions=9,
            facts={"path_px": 100.0 + task, "cross_room": 1.0},
        )
        for seed, word in enumerate(successes.split())
        for task, flag in enumerate(word)
    ]


def save(folder: Path, outcomes: Sequence[Outcome], timed: Sequence[PlanningTime] = ()) -> Path:
    """A run folder with these outcomes."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "outcomes.jsonl").write_text("".join(outcome.to_json() + "\n" for outcome in outcomes))
    if timed:
        (folder / "planning.json").write_text(json.dumps([asdict(one) for one in timed]))
    return folder
