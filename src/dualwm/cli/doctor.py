"""`dualwm doctor`: what this machine can do, and for everything it cannot, the line that helps."""

import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path
from typing import Any

import dualwm
from dualwm.errors import line_that_installs

REFERENCE_GFLOPS = 190.0
"""float32 matrix rate of the two-core machine that the laptop recipes are made for."""
ENOUGH_GB = 10.0
"""Free disk that a data set, a training run and its latents fit into comfortably."""


@dataclass(frozen=True, kw_only=True)
class Args:
    """What this machine can do: Python, torch, threads, drawing, extras, disk, and how fast it multiplies matrices."""

    data: Path = Path("data")
    """Folder where data sets are going to be written; it is only tried, nothing is left there."""
    seconds: float = 0.5
    """How long to measure each matrix rate, in seconds."""
    json: bool = False
    """Print one JSON object instead of lines."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing looked at: the line a person reads, and the facts behind it."""

    name: str
    line: str
    facts: Mapping[str, Any]
    ok: bool = True
    """False where something that the package needs does not work; the exit code is then 1."""


def run(args: Args) -> int:
    """Look at everything and print it; 1 when something needed does not work."""
    findings = [
        _python(),
        _torch(),
        _threads(),
        *_worlds(),
        *_extras(),
        _disk(args.data),
        _data_folder(args.data),
        _speed(args.seconds),
    ]
    fine = all(finding.ok for finding in findings)
    if args.json:
        print(json.dumps({"ok": fine, "findings": [asdict(finding) for finding in findings]}))
    else:
        for finding in findings:
            print(f"{'ok  ' if finding.ok else 'BAD '}{finding.name:<12}{finding.line}")
        print("Everything needed works. Next: dualwm demo" if fine else "Lines marked BAD need attention.")
    return 0 if fine else 1


def _python() -> Finding:
    facts = {
        "dualwm": dualwm.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "executable": sys.executable,
    }
    return Finding(
        name="python", line=f"{facts['python']} on {facts['platform']}; dualwm {facts['dualwm']}", facts=facts
    )


def _torch() -> Finding:
    """The build of torch, and whether it suits the machine."""
    import torch

    has_driver = shutil.which("nvidia-smi") is not None
    devices = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    build = f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPU"
    build = f"ROCm {torch.version.hip}" if torch.version.hip else build
    line = f"{torch.__version__}, {build} build, " + (", ".join(devices) if devices else "no GPU in use")
    if build == "CPU" and has_driver:
        line += "; there is an NVIDIA driver here: install the CUDA build of torch to use the GPU"
    elif build != "CPU" and not devices:
        line += "; the GPU build found no GPU: the CPU build is a tenth of its size and does the same here"
    facts = {
        "version": torch.__version__,
        "build": build,
        "devices": devices,
        "nvidia_driver": has_driver,
        "mps": torch.backends.mps.is_available(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
    }
    return Finding(name="torch", line=line, facts=facts)


def _threads() -> Finding:
    import torch

    from dualwm.data.crew import usable_cores

    usable = usable_cores()
    used = torch.get_num_threads()
    facts = {"torch": used, "cores": usable, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS")}
    line = f"torch uses {used} of {usable} cores"
    if used > usable:
        line += "; more threads than cores wait for each other: set OMP_NUM_THREADS"
    return Finding(name="threads", line=line, facts=facts)


def _worlds() -> list[Finding]:
    """Which worlds step and draw here, tried on two steps of an episode."""
    from dualwm.envs import get_world, world_names

    findings: list[Finding] = []
    for name in world_names():
        try:
            world = get_world(name)
            states = world.simulate(*_a_start(world)).states
            world.draw(states, 64)  # the first picture also paints the background, once
            begun = time.perf_counter()
            frames = world.draw(states.repeat(256, axis=0), 64)
            rate = len(frames) / (time.perf_counter() - begun)
            facts: dict[str, Any] = {"world": name, "draws": True, "frames_per_second_64px": round(rate)}
            line = f"{name} steps and draws: {rate:,.0f} frames/s at 64 px"
        except Exception as problem:  # whatever keeps a world from drawing is what this verb is asked for
            facts = {"world": name, "draws": False, "problem": str(problem)}
            line = f"{name} does not run here: {problem}"
        findings.append(Finding(name="draws", line=line, facts=facts, ok=facts["draws"] or name != "tworoom"))
    return findings


def _a_start(world: Any) -> tuple[Any, list[int]]:
    column = next(spec.name for spec in world.columns if spec.role == "state")
    return world.episode(0, 2)[column][:1], [0]


def _extras() -> list[Finding]:
    """Every optional group of libraries: installed, or the line that installs it."""
    try:
        names: list[str] = metadata("dualwm").get_all("Provides-Extra") or []
        wanted = requires("dualwm") or []
    except PackageNotFoundError:
        names, wanted = [], []
    findings: list[Finding] = []
    for extra in names:
        marked = [line for line in wanted if "extra ==" in line and extra in line.split("extra ==")[1]]
        missing = [name for name in map(_distribution, marked) if not _installed(name)]
        line = f"{extra}: " + (f"not installed; {line_that_installs(extra)}" if missing else "installed")
        facts = {"extra": extra, "installed": not missing, "missing": missing}
        findings.append(Finding(name="extra", line=line, facts=facts))
    return findings


def _distribution(requirement: str) -> str:
    """The bare name of `ruff>=0.14; extra == "dev"` or `pyright[nodejs]>=1; ...`."""
    end = next((i for i, letter in enumerate(requirement) if not (letter.isalnum() or letter in "-_.")), None)
    return requirement[:end]


def _installed(name: str) -> bool:
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return False


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    folder = folder.absolute()
    return next(path for path in (folder, *folder.parents) if path.exists())


def _disk(data: Path) -> Finding:
    usage = shutil.disk_usage(_existing(data))
    free, total = usage.free / 1e9, usage.total / 1e9
    line = f"{free:.0f} of {total:.0f} GB free for {data}"
    if free < ENOUGH_GB:
        line += f"; a data set and a training run want about {ENOUGH_GB:.0f} GB"
    return Finding(name="disk", line=line, facts={"free_gb": round(free, 1), "total_gb": round(total, 1)})


def _data_folder(data: Path) -> Finding:
    where = _existing(data)
    try:
        with tempfile.TemporaryFile(dir=where):
            pass
    except OSError as problem:
        line = f"{data} cannot be written: {problem}. Choose another folder with --out where data is collected"
        return Finding(name="data folder", line=line, facts={"folder": str(data), "writable": False}, ok=False)
    return Finding(name="data folder", line=f"{data} can be written", facts={"folder": str(data), "writable": True})


def _speed(seconds: float) -> Finding:
    """Matrix rates in both precisions, and one sentence on what they mean."""
    import torch

    float32 = _gflops(torch.float32, seconds)
    bfloat16 = _gflops(torch.bfloat16, seconds)
    ratio = float32 / REFERENCE_GFLOPS
    pace = "about as fast as" if 0.75 < ratio < 1.33 else f"{ratio:.1f} times as fast as"
    gain = bfloat16 / float32
    use = f"bfloat16 is {gain:.1f} times faster and worth using" if gain > 1.2 else "bfloat16 gains nothing here"
    line = (
        f"{float32:,.0f} GFLOP/s in float32, {bfloat16:,.0f} in bfloat16: "
        f"{pace} the two-core machine that the laptop recipes are made for, and {use}"
    )
    facts = {"float32_gflops": round(float32, 1), "bfloat16_gflops": round(bfloat16, 1), "versus_reference": ratio}
    return Finding(name="speed", line=line, facts=facts)


def _gflops(dtype: Any, seconds: float, width: int = 1024) -> float:
    """Rate of square matrix products on the CPU, counted over at least `seconds` and at least one product."""
    import torch

    a = torch.ones(width, width, dtype=dtype)
    _ = a @ a
    done, begun = 0, time.perf_counter()
    while done == 0 or time.perf_counter() - begun < seconds:
        _ = a @ a
        done += 1
    return done * 2 * width**3 / (time.perf_counter() - begun) / 1e9
