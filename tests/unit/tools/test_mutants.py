"""The hunt for planted faults, on a toy tree; and that every listed fault can still be planted in the real one."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.skipif(not (ROOT / "tools").is_dir(), reason="reads tools/: run it in a checkout")
sys.path.insert(0, str(ROOT / "tools"))
mutants = pytest.importorskip("mutants")
Mutant = mutants.Mutant

FILE = "src/toy.py"
ADDS = "tests/test_toy.py::test_adds"
IDLE = "tests/test_toy.py::test_asserts_little"


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree of one function and four tests, whose pytest starts without the plugins that a real one wants."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setattr(mutants, "PYTEST", ("-x", "--tb=short"))
    (tmp_path / "src").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "src" / "toy.py").write_text("def add(a, b):\n    return a + b\n")
    (tmp_path / "tests" / "test_toy.py").write_text(
        "import pytest, toy\n"
        "def test_adds():\n    assert toy.add(2, 3) == 5\n"
        "def test_asserts_little():\n    toy.add(2, 3)\n"
        "def test_skips():\n    pytest.skip('no')\n"
        "def test_fails():\n    assert False\n"
    )
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = '-q -p no:cacheprovider'\n")
    return tmp_path


def hunt(toy: Path, *rows: Mutant, words: tuple[str, ...] = ()) -> int:
    return mutants.main(["--workers", "1", *words], rows, toy)


def test_a_caught_fault_is_green_and_the_tree_stays_as_it_was(toy, capsys):
    before = (toy / FILE).read_bytes()
    assert hunt(toy, Mutant(FILE, "a + b", "a - b", ADDS)) == 0
    assert "1 of 1 faults caught" in capsys.readouterr().out
    assert (toy / FILE).read_bytes() == before


def test_a_survivor_is_red_and_shown(toy, capsys):
    assert hunt(toy, Mutant(FILE, "a + b", "a - b", ADDS), Mutant(FILE, "a + b", "a * b", IDLE)) == 1
    out = capsys.readouterr().out
    assert "SURVIVED: src/toy.py" in out
    assert "1 of 2 faults caught" in out


def test_a_fault_that_does_not_even_import_is_a_broken_row(toy, capsys):
    assert hunt(toy, Mutant(FILE, "def add", "deff add", ADDS)) == 1
    assert "BROKEN" in capsys.readouterr().out


@pytest.mark.parametrize("test", ["test_fails", "test_skips", "test_that_nobody_wrote"])
def test_a_named_test_must_pass_before_faults_are_planted(toy, capsys, test):
    assert hunt(toy, Mutant(FILE, "a + b", "a - b", f"tests/test_toy.py::{test}")) == 1
    assert "must pass before" in capsys.readouterr().out


@pytest.mark.parametrize("row", [Mutant(FILE, "a - b", "a + b", ADDS), Mutant("src/gone.py", "a", "b", ADDS)])
def test_a_line_that_is_not_there_once_is_refused_before_anything_runs(toy, capsys, row):
    assert hunt(toy, row) == 1
    assert "should occur once" in capsys.readouterr().out


def test_only_chooses_rows_by_their_words(toy, capsys):
    assert hunt(toy, Mutant(FILE, "a + b", "a - b", ADDS), words=("--list", "--only", "nothing like it")) == 1
    assert hunt(toy, Mutant(FILE, "a + b", "a - b", ADDS), words=("--list", "--only", "a - b")) == 0
    assert "a - b" in capsys.readouterr().out


def test_every_listed_fault_can_be_planted_and_names_a_test_that_is_there():
    assert len(mutants.MUTANTS) >= 25
    told = [mutants.misplaced(row, ROOT) for row in mutants.MUTANTS]
    assert [problem for problem in told if problem] == []
    for row in mutants.MUTANTS:
        file, *names = row.test.split("::")
        text = (ROOT / file).read_text()
        assert all(f" {name.split('[')[0]}" in text for name in names), row.test
