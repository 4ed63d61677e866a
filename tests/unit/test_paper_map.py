"""docs/paper-map.md says the truth: its functions exist and cite what they compute, its tests would notice if not."""

import ast
import dataclasses
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from zeroed import resolve

ROOT = Path(__file__).resolve().parents[2]
MAP = (ROOT / "docs" / "paper-map.md").read_text()
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", MAP, re.M | re.S))
NUMBERED_EQUATIONS = set(range(1, 20))
CONFIGURATION_TABLES = {"table 3", "table 4", "table 9"}

_CITED = re.compile(r"(Eqs?\.|Table|Appendix|[Ss]ection) (\([0-9]+\)(?: to \([0-9]+\))?|[A-Z]\b|[0-9]+(?:\.[0-9]+)?)")


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the first table."""

    place: str
    function: str
    test: str


def first_table() -> list[Row]:
    line = r"^\| ([^|]+) \| [^|]+ \| `(dualwm[\w.]+)` \| `(tests/[^`]+)` \|$"
    return [Row(*cells) for cells in re.findall(line, SECTIONS["From paper to code"], re.M)]


def places(text: str) -> set[str]:
    """The places of the paper a text cites, ranges of equations spelt out: Eqs. (8) to (10) is three of them."""
    found: set[str] = set()
    for kind, place in _CITED.findall(text):
        if kind.startswith("Eq"):
            ends = [int(number) for number in re.findall(r"\d+", place)]
            found |= {f"Eq. ({n})" for n in range(ends[0], ends[-1] + 1)}
        else:
            found.add(f"{kind.lower()} {place}")
    return found


def equations(text: str) -> set[int]:
    return {int(place[5:-1]) for place in places(text) if place.startswith("Eq.")}


def docstring(dotted: str) -> str:
    owner, name = resolve(dotted)
    return inspect.getattr_static(owner, name).__doc__ or ""


def verdicts(rows: Sequence[Row], folder: Path) -> dict[Row, str]:
    """What becomes of each row's test when its function returns zeros (see `zeroed`), told by one process for all."""
    asked, told = folder / "rows.json", folder / "verdicts.json"
    asked.write_text(json.dumps([(row.function, row.test) for row in rows]))
    command = [sys.executable, str(ROOT / "tests" / "zeroed.py"), str(asked), str(told)]
    # Hypothesis takes another profile where CI is set, and then spends minutes on the smallest example that fails.
    env = {name: value for name, value in os.environ.items() if name != "CI"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert told.exists(), done.stdout + done.stderr
    return dict(zip(rows, json.loads(told.read_text()), strict=True))


ROWS = first_table()


def test_every_line_of_the_first_table_is_read():
    lines = [line for line in SECTIONS["From paper to code"].splitlines() if line.startswith("|")]
    assert len(ROWS) == len(lines) - 2
    assert len(set(ROWS)) == len(ROWS)


def test_every_numbered_equation_and_configuration_table_has_its_line():
    computed = {n for row in ROWS for n in equations(row.place)}
    argued = equations(SECTIONS["Equations that are arguments, not computations"])
    assert computed | argued == NUMBERED_EQUATIONS
    assert not computed & argued
    assert {place for row in ROWS for place in places(row.place)} >= CONFIGURATION_TABLES


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.place} {row.function}")
def test_every_function_cites_its_place_in_the_paper(row: Row):
    assert places(row.place), f"{row.place!r} is no place in the paper"
    assert places(docstring(row.function)) >= places(row.place), f"{row.function}: {docstring(row.function)!r}"


def test_every_name_and_test_in_the_document_exists():
    """Of all three sections. A name is a function, a class, a constant, or a field of a configuration."""
    for dotted in set(re.findall(r"`(dualwm\.[\w.]+)`", MAP)):
        owner, name = resolve(dotted)
        named_fields = {f.name for f in dataclasses.fields(owner)} if dataclasses.is_dataclass(owner) else set()
        assert hasattr(owner, name) or name in named_fields, dotted
    for test in set(re.findall(r"`(tests/[^`]+::[^`]+)`", MAP)):
        file, _, function = test.partition("::")
        tree = ast.parse((ROOT / file).read_text())
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, test


def test_every_named_test_fails_when_its_function_returns_zeros(tmp_path: Path):
    told = {row: word for row, word in verdicts(ROWS, tmp_path).items() if word != "fails"}
    wrong = [f"{row.place}: with zeros from {row.function}, {row.test} {word}" for row, word in told.items()]
    assert not wrong, "\n".join(wrong)


def test_a_test_that_does_not_depend_on_its_function_is_reported(tmp_path: Path):
    lore = "tests/unit/loss/test_lore.py"
    blind = Row("Eq. (3)", "dualwm.loss.maps.maps", f"{lore}::test_the_other_profiles")
    seeing = Row("Eq. (5)", "dualwm.loss.lore.horizon_weights", f"{lore}::test_the_other_profiles")
    assert verdicts([blind, seeing], tmp_path) == {blind: "passes", seeing: "fails"}


def test_citations_are_read_in_every_form_that_docstrings_use():
    assert equations("Eqs. (8) to (10), and Eq. (4)") == {4, 8, 9, 10}
    assert places("Section 3.2 and Appendix H; Table 3") == {"section 3.2", "appendix H", "table 3"}
