"""The ledger: one committed line for every evaluation on test tasks, so that nobody tests often and tells once."""

import json
import subprocess
import tomllib
from collections.abc import Sequence
from pathlib import Path

from dualwm.files import append_lines
from dualwm.records import Outcome, TaskSet

LEDGER = Path("results/ledger.jsonl")


def checkout() -> Path | None:
    """The git checkout of this project that the running package lies in; None for an installed copy."""
    root = Path(__file__).resolve().parents[3]
    project = root / "pyproject.toml"
    if not (root / ".git").exists() or not project.exists():
        return None
    name = tomllib.loads(project.read_text(encoding="utf-8")).get("project", {}).get("name")
    return root if name == "dualwm" else None


def default_ledger() -> Path | None:
    """Where this checkout keeps its ledger."""
    root = checkout()
    return None if root is None else root / LEDGER


def commit_of(root: Path) -> str | None:
    """The commit checked out, with `+` behind it where tracked files differ from it; None where git cannot say."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True, timeout=30)
        return done.stdout.strip()

    try:
        # The ledger itself changes with every evaluation and says nothing about the code.
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", f":(exclude){LEDGER.as_posix()}")
        return git("rev-parse", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return None


def append_ledger(path: Path, taskset: TaskSet, outcomes: Sequence[Outcome], commit: str | None) -> bool:
    """Add the line of one system on one complete TaskSet; False, and no line, for tasks that are not of test."""
    if taskset.collection != "test":
        return False
    first = outcomes[0]
    assert all((o.system, o.weights_digest) == (first.system, first.weights_digest) for o in outcomes)
    line = {
        "system": first.system,
        "weights_digest": first.weights_digest,
        "settings_digest": first.settings_digest,
        "variant": first.variant,
        "taskset_digest": taskset.digest,
        "world": taskset.world,
        "rule": taskset.rule,
        "protocol": taskset.protocol,
        "goal_offset_env_steps": taskset.goal_offset_env_steps,
        "seed": taskset.seed,
        "n": len(outcomes),
        "success": sum(outcome.success for outcome in outcomes) / len(outcomes),
        "commit": commit,
    }
    append_lines(path, [json.dumps(line, sort_keys=True, separators=(",", ":"))])
    return True
