"""The command `dualwm`: a table of verbs, and one door through which every verb runs.

A verb lives in a module of this folder as a frozen dataclass of arguments (the docstring under a field is its help) and
a function that takes it and returns the exit code. Nothing is imported before the verb is known, so that
`dualwm --help` answers at once; the module of a verb should in turn import heavy libraries inside its function.
A row whose module does not exist is not listed.
"""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

import dualwm
from dualwm.errors import DualWMError, did_you_mean


@dataclass(frozen=True, kw_only=True)
class Verb:
    """One row of the table: the words typed, one line of help, and where the verb lives."""

    name: str
    help: str
    module: str
    args: str = "Args"
    """The frozen dataclass of arguments in `module`. Every verb has a field `json`."""
    run: str = "run"
    """The function in `module` that takes the arguments and returns the exit code."""

    @property
    def exists(self) -> bool:
        """Whether the verb's module is there; found without importing it."""
        return find_spec(self.module) is not None

    def load(self) -> tuple[type, Callable[[Any], int]]:
        """The argument class and the function. This is where the verb's module is imported."""
        module = import_module(self.module)
        return getattr(module, self.args), getattr(module, self.run)


def _verb(name: str, help: str) -> Verb:
    return Verb(name=name, help=help, module=f"dualwm.cli.{name}")


def _data(name: str, help: str) -> Verb:
    run = f"{name}_" if name == "import" else name
    return Verb(name=f"data {name}", help=help, module="dualwm.cli.data", args=f"{name.capitalize()}Args", run=run)


VERBS = (
    _verb("demo", "Watch the shipped model plan through the doorway; writes demo.html."),
    _verb("doctor", "What this machine can do: Python, torch, threads, drawing, extras, disk, speed."),
    _data("collect", "Record episodes of a world into a data set folder."),
    _data("show", "What a data set holds."),
    _data("check", "Look for what spoils training: NaN actions, frozen frames, leakage, unusable lengths."),
    Verb(
        name="data check-world",
        help="Whether a world keeps its promises: exact states, seeds, pictures, success.",
        module="dualwm.cli.check_world",
    ),
    _data("import", "Make a data set from npz or npy folders, or from PNG folders with a CSV."),
    Verb(
        name="data import-tasks",
        help="Published task sets (Dual-WM release, CLEAR-LeWM), with the data they were cut from.",
        module="dualwm.cli.import_tasks",
    ),
    _verb("train", "Train a recipe into a System folder; the same command continues it."),
    _verb("eval", "Success of a system on matched tasks, with intervals and floors."),
    _verb("compare", "Several systems on the same tasks."),
    _verb("reproduce", "Run a recorded number again and say whether it is the same."),
    _verb("failures", "Why tasks of a run failed: one label each, with its evidence."),
    _verb("diagnose", "Why a system fails: representation, prediction, search."),
    _verb("report", "Tables and pages from recorded outcomes."),
    _verb("view", "Look at the episodes of a run, decision by decision."),
    Verb(
        name="train-decoder",
        help="Pictures of latents, for `view --decoder`; the system stays as it is.",
        module="dualwm.cli.train_decoder",
    ),
    _verb("bench", "How fast this machine plans, trains and reads."),
    _verb("export", "Write a system in formats that other programs read."),
    _verb("explain", "What a setting means, in environment steps."),
)


def main(argv: Sequence[str] | None = None, verbs: Sequence[Verb] = VERBS) -> int:
    """Run one command line; the exit code. 0 done, 1 done and found wanting, 2 could not be done, 130 interrupted."""
    try:
        code = _dispatch(list(sys.argv[1:] if argv is None else argv), verbs)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader of our output (`| head`) has gone. Give the interpreter somewhere to flush to, and leave quietly.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _dispatch(words: Sequence[str], verbs: Sequence[Verb]) -> int:
    known = {verb.name: verb for verb in verbs if verb.exists}
    if words and words[0] in ("-V", "--version"):
        print(dualwm.__version__)
        return 0
    name = next((name for name in (" ".join(words[:2]), *words[:1]) if name in known), None)
    if name is not None:
        return _run(known[name], words[len(name.split()) :])
    return _explain(words, known)


def _explain(words: Sequence[str], known: dict[str, Verb]) -> int:
    """No verb was named: the overview, a group's overview, or the nearest verb to what was typed."""
    typed = [word for word in words[:2] if not word.startswith("-")]
    asked_for_help = any(word in ("-h", "--help") for word in words[:2])
    if not typed and (asked_for_help or not words):
        print(_overview(list(known.values())))
        return 0
    group = [verb for verb in known.values() if typed and verb.name.split()[0] == typed[0]]
    if group and len(typed) == 1:
        print(_overview(group))
        return 0
    wanted = " ".join(typed[: 2 if group else 1]) or words[0]
    print(f"dualwm: there is no verb {wanted!r}. {did_you_mean(wanted, known)}", file=sys.stderr)
    return 2


def _overview(verbs: Sequence[Verb]) -> str:
    width = max((len(verb.name) for verb in verbs), default=0)
    rows = [f"  {verb.name:<{width}}  {verb.help}" for verb in verbs]
    return "\n".join(
        [
            f"dualwm {dualwm.__version__}: dual-latent world models that plan towards a goal image",
            "",
            "usage: dualwm VERB [options]",
            "",
            *rows,
            "",
            "`dualwm VERB --help` lists a verb's options. Every verb takes --json.",
        ]
    )


def _run(verb: Verb, words: Sequence[str]) -> int:
    try:
        args_class, run = verb.load()
        return run(_parse(verb, args_class, words))
    except DualWMError as problem:
        print(f"dualwm {verb.name}: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\ndualwm {verb.name}: interrupted; the same command continues where it can.", file=sys.stderr)
        return 130


def _parse(verb: Verb, args_class: type, words: Sequence[str]) -> Any:
    import tyro

    config = (tyro.conf.FlagCreatePairsOff, tyro.conf.PositionalMetavarFromFieldName)
    return tyro.cli(cast(type[Any], args_class), prog=f"dualwm {verb.name}", args=words, config=config)
