"""Plant known one-line faults in a copy of the code and see that the named test catches each: `make mutants`.

A fault is a row of `mutants_list.py`. Each worker copies the tree (src, tests, bench, tools, pyproject.toml); the
checkout is never touched. First the named tests must pass as they are; then each must fail with its fault in place.
Only a failing test counts: an import error or a test that is not found is a broken row, not a catch.

    python tools/mutants.py [--list] [--only WORDS] [--workers N]      exit code 1 on a survivor or a broken row
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

from mutants_list import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("src", "tests", "bench", "tools", "pyproject.toml")
PYTEST = ("-n0", "-x", "--timeout=120", "--tb=short")
PASSED, FAILED = 0, 1


@dataclass(frozen=True, kw_only=True)
class Verdict:
    mutant: Mutant
    word: str
    seconds: float
    detail: str = ""


def main(argv: Sequence[str] | None = None, mutants: Sequence[Mutant] = MUTANTS, root: Path = ROOT) -> int:
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words.add_argument("--list", action="store_true", help="print the rows and stop")
    words.add_argument("--only", default="", help="rows whose file, fault or test contains this")
    words.add_argument("--workers", type=int, default=2)
    args = words.parse_args(argv)
    chosen = [m for m in mutants if args.only in f"{m.file} {m.old} {m.new} {m.test}"]
    if args.list or not chosen:
        print("\n".join(f"{m.file}: {m.old.strip()}  ->  {m.new.strip()}" for m in chosen) or "no row matches")
        return 0 if chosen else 1
    problems = [problem for m in chosen if (problem := misplaced(m, root))]
    if problems:
        print("\n".join(problems))
        return 1
    return hunt(chosen, root, args.workers)


def misplaced(mutant: Mutant, root: Path) -> str | None:
    """Why a row cannot be planted: its line must stand in its file exactly once."""
    path = root / mutant.file
    found = path.read_text().count(mutant.old) if path.is_file() else 0
    if found == 1 and mutant.old != mutant.new:
        return None
    return f"{mutant.file}: {mutant.old.strip()!r} should occur once and differ from its fault; it occurs {found} times"


def hunt(mutants: Sequence[Mutant], root: Path, workers: int) -> int:
    begun = time.perf_counter()
    with ExitStack() as stack:
        copies: Queue[Path] = Queue()
        for _ in range(min(workers, len(mutants))):
            copies.put(copy_tree(root, Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mutants-")))))
        healthy, words = run_tests(copies.queue[0], sorted({m.test for m in mutants}))
        if healthy != PASSED:
            print(words + "\nThe named tests must pass before faults are planted.")
            return 1
        with ThreadPoolExecutor(workers) as pool:
            verdicts = list(pool.map(lambda m: told(judge(m, copies)), mutants))
    caught = sum(v.word == "caught" for v in verdicts)
    for v in verdicts:
        if v.word != "caught":
            print(f"\n{v.word}: {v.mutant.file}\n  - {v.mutant.old.strip()}\n  + {v.mutant.new.strip()}")
            print(f"  {v.mutant.test}\n{v.detail}")
    print(f"{caught} of {len(verdicts)} faults caught in {time.perf_counter() - begun:.0f} s")
    return 0 if caught == len(verdicts) else 1


def told(verdict: Verdict) -> Verdict:
    line = f"{verdict.word:<9}{verdict.seconds:5.1f} s  {verdict.mutant.file.removeprefix('src/dualwm/'):<34}"
    print(f"{line} {' '.join(verdict.mutant.new.split())[:70]}", flush=True)
    return verdict


def copy_tree(root: Path, to: Path) -> Path:
    for name in COPIED:
        if (root / name).is_dir():
            shutil.copytree(root / name, to / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif (root / name).exists():
            shutil.copy2(root / name, to / name)
    return to


def judge(mutant: Mutant, copies: "Queue[Path]") -> Verdict:
    """Plant one fault in a free copy, run its test, and take the fault out again."""
    copy = copies.get()
    path = copy / mutant.file
    healthy = path.read_text()
    begun = time.perf_counter()
    try:
        path.write_text(healthy.replace(mutant.old, mutant.new))
        code, words = run_tests(copy, [mutant.test])
    finally:
        path.write_text(healthy)
        copies.put(copy)
    word = {FAILED: "caught", PASSED: "SURVIVED"}.get(code, "BROKEN")
    return Verdict(mutant=mutant, word=word, seconds=time.perf_counter() - begun, detail=words[-1500:])


def run_tests(copy: Path, tests: Sequence[str]) -> tuple[int, str]:
    """pytest's exit code and words. No bytecode is written: a fault planted within a clock tick must not be missed."""
    settings = {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", *PYTEST, *tests]
    done = subprocess.run(
        command, cwd=copy, env={**os.environ, **settings}, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    skipped = done.returncode == PASSED and " skipped" in done.stdout.splitlines()[-1]
    return (5 if skipped else done.returncode), done.stdout + done.stderr


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
