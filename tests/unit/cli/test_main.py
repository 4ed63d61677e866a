"""The one door of the command: which verb runs, what it is given, and how failures are told."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dualwm
from dualwm.cli.main import Verb, main

MODULE = '''
from dataclasses import dataclass
from dualwm.errors import DataError

@dataclass(frozen=True, kw_only=True)
class Args:
    """Counts."""
    steps_env: int = 3
    """How far, in environment steps."""
    json: bool = False
    """One object."""

def run(args):
    if args.steps_env == 13:
        raise DataError("Expected anything but 13; it came from --steps-env. Choose another.")
    if args.steps_env == 14:
        raise KeyboardInterrupt
    if args.steps_env == 15:
        raise ZeroDivisionError
    print(args)
    return 0 if args.steps_env < 100 else 1

def run_more(args):
    print("more", args)
    return 0
'''


@pytest.fixture
def verbs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Verb]:
    name = f"counting_verb_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    return [
        Verb(name="count", help="Count.", module=name),
        Verb(name="number more", help="Number more.", module=name, run="run_more"),
        Verb(name="number less", help="Number less.", module=name, run="run_more"),
        Verb(name="future", help="Not there yet.", module=f"{name}_that_nobody_wrote"),
    ]


def test_a_verb_gets_its_arguments_and_its_exit_code_is_ours(verbs, capsys):
    assert main(["count", "--steps-env", "7", "--json"], verbs) == 0
    assert capsys.readouterr().out == "Args(steps_env=7, json=True)\n"
    assert main(["count", "--steps-env", "100"], verbs) == 1


def test_a_verb_of_two_words_gets_the_rest(verbs, capsys):
    assert main(["number", "more", "--steps-env", "1"], verbs) == 0
    assert capsys.readouterr().out == "more Args(steps_env=1, json=False)\n"


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_the_overview_lists_verbs_that_exist_and_no_others(verbs, capsys, words):
    assert main(words, verbs) == 0
    out = capsys.readouterr().out
    assert "count" in out
    assert "number more" in out
    assert "future" not in out


@pytest.mark.parametrize("words", [["number"], ["number", "--help"]])
def test_a_group_lists_its_own_verbs(verbs, capsys, words):
    assert main(words, verbs) == 0
    out = capsys.readouterr().out
    assert "number less" in out
    assert "count" not in out


@pytest.mark.parametrize(
    ("words", "near"),
    [(["cuont"], "count"), (["number", "mores"], "number more"), (["coun", "--help"], "count"), (["--cuont"], "count")],
)
def test_an_unknown_verb_suggests_the_near_one(verbs, capsys, words, near):
    assert main(words, verbs) == 2
    assert f"Did you mean '{near}'?" in capsys.readouterr().err


def test_a_verb_whose_module_is_missing_is_unknown(verbs, capsys):
    assert main(["future"], verbs) == 2
    assert "there is no verb 'future'" in capsys.readouterr().err


def test_an_unknown_option_suggests_the_near_one(verbs, capsys):
    with pytest.raises(SystemExit) as left:
        main(["count", "--step-env", "3"], verbs)
    assert left.value.code == 2
    assert "--steps-env" in capsys.readouterr().err


def test_help_of_a_verb_shows_the_docstring_of_each_option(verbs, capsys):
    with pytest.raises(SystemExit) as left:
        main(["count", "--help"], verbs)
    assert left.value.code == 0
    assert "in environment steps" in capsys.readouterr().out


def test_an_error_of_ours_is_one_paragraph_and_exit_code_two(verbs, capsys):
    assert main(["count", "--steps-env", "13"], verbs) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "dualwm count: Expected anything but 13; it came from --steps-env. Choose another.\n"


def test_an_error_of_nobody_keeps_its_traceback(verbs):
    with pytest.raises(ZeroDivisionError):
        main(["count", "--steps-env", "15"], verbs)


def test_an_interrupt_says_how_to_go_on_and_exits_130(verbs, capsys):
    assert main(["count", "--steps-env", "14"], verbs) == 130
    assert "the same command continues" in capsys.readouterr().err


def test_version_is_the_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == dualwm.__version__


def test_a_reader_that_leaves_early_is_no_traceback():
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "dualwm", "--help"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writing)
    assert done.returncode == 1
    assert done.stderr == ""
