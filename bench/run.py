"""Run the bench: `make bench`, or `python -m bench.run [W1 W4 ...] [--quick] [--long]`.

Each workload's lines go to `bench/results/WORKLOAD.jsonl` as soon as it is done, its picture beside them; the table of
ratios is printed at the end and made again from those lines alone with `--table`. Quick runs leave everything in
`.bench/quick` instead.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import fields
from importlib import import_module
from pathlib import Path

from bench.alternate import Line, SideError, call, run_case
from bench.cases import ROOT, WORK, Case, Options, Side, Workload
from bench.machine import facts
from bench.peers.install import install
from bench.picture import picture
from bench.table import page, read

RESULTS = ROOT / "bench" / "results"
FILES = {
    "W0": "w0_waiting",
    "W1": "w1_paper",
    "W1b": "w1b_laptop",
    "W2": "w2_decisions",
    "W3": "w3_training",
    "W4": "w4_reading",
    "W5": "w5_worlds",
    "W6": "w6_evaluation",
    "W7": "w7_from_nothing",
    "W8": "w8_growth",
}
PEERS = Side(name="peers", call="bench.machine:peer_versions", peer=True)


def main(words: Sequence[str] | None = None) -> int:
    """Run what is named, or everything; 1 where a side did not come back."""
    args = parsed(words)
    folder = WORK / "quick" if args.quick else RESULTS
    names = [name for name in FILES if not args.names or name in args.names]
    if args.table:
        print(json.dumps(read(folder)) if args.json else page(read(folder)))
        return 0
    options = Options(**{f.name: getattr(args, f.name) for f in fields(Options) if getattr(args, f.name) is not None})
    problem = install() if options.peer else "asked for with --no-peer"
    if problem:
        print(f"Without the peers: {problem}", file=sys.stderr)
        options = Options(**{**vars(options), "peer": False})
    broken = [name for name in names if not run_workload(name, options, folder, without=problem)]
    lines = read(folder)
    (folder / "table.md").write_text(page(lines), encoding="utf-8")
    print(json.dumps(lines) if args.json else page(lines))
    if broken:
        print(f"Not everything of {', '.join(broken)} came back; see above.", file=sys.stderr)
    return int(bool(broken))


def parsed(words: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(FILES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="tiny settings; the numbers mean nothing")
    parser.add_argument("--repeats", type=int, help="fresh processes per side")
    parser.add_argument("--threads", type=int, help="threads of every side; all cores by default")
    parser.add_argument("--no-peer", dest="peer", action="store_false", help="ours and the plain reference alone")
    parser.add_argument("--long", action="store_true", help="also what takes the better part of an hour (W7)")
    parser.add_argument("--table", action="store_true", help="run nothing: print the table of what was recorded")
    parser.add_argument("--json", action="store_true", help="print every recorded line as one JSON list, no table")
    args = parser.parse_args(words)
    unknown = [name for name in args.names if name not in FILES]
    if unknown:
        parser.error(f"there is no workload {unknown[0]!r}; there are {', '.join(FILES)}")
    return args


def run_workload(name: str, options: Options, folder: Path, without: str | None) -> bool:
    """Run one workload and write its lines and its picture; False where a case did not come back."""
    workload: Workload = import_module(f"bench.{FILES[name]}").WORKLOAD
    print(f"{workload.name}  {workload.title}", file=sys.stderr, flush=True)
    about = {"kind": "about", "workload": name, "title": workload.title, "notes": workload.notes}
    peers = call(PEERS, 1)["versions"] if options.peer else None
    machine = {**facts(options.threads), "peers": peers, "without_peers": without, "quick": options.quick}
    lines: list[Line] = [{**about, **machine}]
    whole = True
    for case in workload.cases(options):
        whole &= _collect(lines, name, case, options)
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    drawn = picture(lines)
    if drawn is not None:
        (folder / f"{name}.svg").write_text(drawn, encoding="utf-8")
    return whole


def _collect(lines: list[Line], name: str, case: Case, options: Options) -> bool:
    try:
        lines += run_case(name, case, options)
    except SideError as problem:
        lines.append({"kind": "failure", "workload": name, "case": case.name, "problem": str(problem)})
        print(f"  {case.name}: {problem}", file=sys.stderr, flush=True)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
