"""The command line, as a user types it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def dualwm(place: Path, *words: str) -> dict[str, Any]:
    """Run `dualwm WORDS --json` in a folder; the JSON object it prints."""
    command = [sys.executable, "-m", "dualwm", *words, "--json"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"dualwm {' '.join(words)} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])
