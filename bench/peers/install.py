"""Make the peers' environment, `.bench/peer`, once: `python -m bench.peers.install`. About 2 GB, none of it in `.venv`.

torchvision and stable-worldmodel are installed without what they ask for: left alone, pip would take another torch for
the first, and the simulators of forty environments for the second.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

from bench.cases import PEER_PYTHON, WORK

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
ALONE = ("torchvision==0.28.0", "stable-worldmodel==0.1.1")
STAMP = WORK / "peer" / "installed"


def ready() -> bool:
    """Whether the environment is there and is the one asked for."""
    return STAMP.exists() and STAMP.read_text(encoding="utf-8") == _digest() and PEER_PYTHON.exists()


def install() -> str | None:
    """Make the environment if it is missing; None, or why it could not be made."""
    if ready():
        return None
    print(
        "Setting up the peers' environment in .bench/peer, once: a few minutes and about 2 GB.",
        file=sys.stderr,
        flush=True,
    )
    WORK.mkdir(exist_ok=True)
    pip = [str(PEER_PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for command in (
        [sys.executable, "-m", "venv", str(WORK / "peer")],
        [*pip, "-r", str(REQUIREMENTS)],
        [*pip, "--no-deps", *ALONE],
        [str(PEER_PYTHON), "-W", "ignore", "-c", "import bench.peers.swm"],
    ):
        done = subprocess.run(command, cwd=WORK.parent, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr or done.stdout).strip().splitlines()[-3:]
            return f"`{' '.join(command[:6])} ...` ended with exit code {done.returncode}: {' '.join(last)}"
    STAMP.write_text(_digest(), encoding="utf-8")
    return None


def _digest() -> str:
    return hashlib.sha256(REQUIREMENTS.read_bytes() + " ".join(ALONE).encode()).hexdigest()


if __name__ == "__main__":
    problem = install()
    print(problem or "The peers' environment is ready.")
    sys.exit(problem is not None)
