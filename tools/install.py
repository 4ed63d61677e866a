"""Set up `.venv` with the package and what it needs: `python3 tools/install.py core|dev [--torch=cpu]`.

The Makefile calls this before everything, so it must cost nothing when there is nothing to do: a stamp in `.venv` holds
a digest of what the last installation depended on. It uses the standard library alone, and its syntax is old on
purpose: an old Python must be able to read the file far enough to say that it is too old.
"""

import hashlib
import json
import os
import platform
import subprocess
import sys

OLDEST = (3, 11)
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
STAMP = os.path.join(VENV, ".dualwm-installed")
CPU_INDEX = "https://download.pytorch.org/whl/cpu"

TOO_OLD = """dualwm needs Python {0}.{1} or newer; {2} is Python {3}.
Install a newer Python beside it and name it:  make {4} PYTHON=python3.12"""

NO_VENV = """Python's `venv` could not make {0}.
On Debian and Ubuntu it is a package of its own: apt install python{1}.{2}-venv  (or name another Python: PYTHON=...)"""

LARGE_TORCH = """
The torch {0} about to be installed is the build for NVIDIA GPUs: a download of about 3 GB.
If this machine has no such GPU, press Ctrl-C and take the CPU build (about 200 MB): the same command with TORCH=cpu,
for example  make demo TORCH=cpu
"""


def main(words):
    wanted = words[0] if words else ""
    if wanted not in ("core", "dev"):
        sys.exit("usage: python3 tools/install.py core|dev [--torch=cpu]")
    if sys.version_info[:2] < OLDEST:
        target = "demo" if wanted == "core" else "test"
        sys.exit(TOO_OLD.format(*OLDEST, sys.executable, platform.python_version(), target))
    key = digest()
    stamp = read_stamp()
    if stamp.get("key") == key and os.path.exists(PYTHON) and wanted in ("core", stamp.get("installed")):
        return
    print("Setting up .venv, once: about a minute, most of it the download of torch.", flush=True)
    make_venv(fresh=stamp.get("root", ROOT) != ROOT)
    install_torch("--torch=cpu" in words)
    extras = "[dev]" if "dev" in (wanted, stamp.get("installed")) else ""
    pip("install", "-c", "constraints.txt", "-e", "." + extras)
    with open(STAMP, "w") as file:
        json.dump({"key": key, "root": ROOT, "installed": "dev" if extras else "core"}, file)


def digest():
    """Of everything an installation depends on: where it stands and what it asks for."""
    found = hashlib.sha256(ROOT.encode())
    for name in ("pyproject.toml", "constraints.txt"):
        with open(os.path.join(ROOT, name), "rb") as file:
            found.update(file.read())
    return found.hexdigest()


def read_stamp():
    try:
        with open(STAMP) as file:
            return dict(json.load(file))
    except (OSError, ValueError):
        return {}


def make_venv(fresh):
    """Make `.venv` unless a working one is there; `fresh` when it was moved here and its scripts point elsewhere."""
    works = [PYTHON, "-c", "import pip, sys; sys.exit(sys.version_info[:2] < " + repr(OLDEST) + ")"]
    if not fresh and os.path.exists(PYTHON) and subprocess.call(works, stderr=subprocess.DEVNULL) == 0:
        return
    if subprocess.call([sys.executable, "-m", "venv", "--clear", VENV]) != 0:
        sys.exit(NO_VENV.format(VENV, *sys.version_info[:2]))


def install_torch(cpu):
    """Before the rest, take the CPU build if it was asked for; else say so when the build to come is the large one."""
    pin = torch_pin()
    has_torch = [PYTHON, "-c", "from importlib.metadata import version; version('torch')"]
    if subprocess.call(has_torch, stderr=subprocess.DEVNULL) == 0:
        return
    if cpu:
        pip("install", "-c", "constraints.txt", "--index-url", CPU_INDEX, "torch==" + pin)
    elif is_large(pin):
        print(LARGE_TORCH.format(pin), flush=True)


def torch_pin():
    with open(os.path.join(ROOT, "constraints.txt")) as file:
        return next(line.strip().split("==")[1] for line in file if line.startswith("torch=="))


def is_large(pin):
    """Whether pip would choose the GPU build, asked without downloading anything; False when that cannot be known.

    pip prefers a version with a local tag (`+cpu`, `+cu130`) over the plain one, and on x86-64 Linux the plain one is
    a GPU build.
    """
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return False
    try:
        command = [PYTHON, "-m", "pip", "index", "versions", "torch"]
        found = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=30, check=True)
        listed = found.stdout.decode().split("Available versions:")[1].splitlines()[0].split(",")
        builds = sorted(v.strip() for v in listed if v.strip().split("+")[0] == pin)
        return bool(builds) and not builds[-1].endswith("+cpu")
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        return False


def pip(*words):
    """Run pip showing only its large downloads; if it fails, everything it said."""
    settings = dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1", PYTHONUNBUFFERED="1")
    settings["PIP_BUILD_CONSTRAINT"] = os.path.join(ROOT, "constraints.txt")
    said = []
    command = [PYTHON, "-m", "pip", *words]
    with subprocess.Popen(command, cwd=ROOT, env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
        for line in running.stdout:
            said.append(line.decode("utf-8", "replace"))
            if said[-1].lstrip().startswith("Downloading ") and (" MB" in said[-1] or " GB" in said[-1]):
                print("  " + said[-1].strip(), flush=True)
            elif said[-1].startswith("Installing collected packages"):
                print(f"  Installing {said[-1].count(',') + 1} packages", flush=True)
    if running.returncode != 0:
        sys.exit("".join(said) + "pip could not install what dualwm needs; its own words are above.")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("\nSet-up interrupted. The same command continues it.")
