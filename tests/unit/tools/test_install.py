"""Set-up from nothing: what it says to an old Python, when it has nothing to do, and how it knows the large torch."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "tools" / "install.py"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="reads tools/: run it in a checkout")


@pytest.fixture
def install(tmp_path, monkeypatch):
    """The script as a module, looking at an empty checkout."""
    spec = importlib.util.spec_from_file_location("install_under_test", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    (tmp_path / "constraints.txt").write_text("numpy==2.0\ntorch==2.13.0\n")
    monkeypatch.setattr(module, "ROOT", str(tmp_path))
    monkeypatch.setattr(module, "VENV", str(tmp_path / ".venv"))
    monkeypatch.setattr(module, "PYTHON", str(tmp_path / ".venv/bin/python"))
    monkeypatch.setattr(module, "STAMP", str(tmp_path / ".venv/.dualwm-installed"))
    return module


def have_python(tmp_path: Path, versions: str = "", fails: bool = False) -> None:
    """A stand-in for `.venv/bin/python` that lists versions the way `pip index versions torch` does."""
    folder = tmp_path / ".venv" / "bin"
    folder.mkdir(parents=True)
    script = folder / "python"
    said = f"torch (2.15.0)\nAvailable versions: {versions}\n"
    script.write_text(f"#!{sys.executable}\nimport sys\nprint({said!r})\nsys.exit({int(fails)})\n")
    script.chmod(0o755)


def test_an_old_python_is_told_which_one_is_needed(install, monkeypatch):
    monkeypatch.setattr(install, "OLDEST", (99, 1))
    with pytest.raises(SystemExit, match=r"needs Python 99\.1 or newer; .* is Python 3\."):
        install.main(["core"])


def test_nothing_is_done_twice(install, tmp_path, monkeypatch):
    have_python(tmp_path)
    Path(install.STAMP).write_text(json.dumps({"key": install.digest(), "root": str(tmp_path), "installed": "dev"}))
    monkeypatch.setattr(install, "pip", lambda *words: pytest.fail("pip ran"))
    install.main(["core"])
    install.main(["dev"])


@pytest.mark.parametrize("changed", ["pyproject.toml", "constraints.txt"])
def test_a_changed_requirement_installs_again_and_keeps_the_tools(install, tmp_path, monkeypatch, changed):
    have_python(tmp_path)
    Path(install.STAMP).write_text(json.dumps({"key": install.digest(), "root": str(tmp_path), "installed": "dev"}))
    with (tmp_path / changed).open("a") as file:
        file.write("# changed\n")
    ran: list[tuple[str, ...]] = []
    monkeypatch.setattr(install, "pip", lambda *words: ran.append(words))
    install.main(["core"])
    assert ran == [("install", "-c", "constraints.txt", "-e", ".[dev]")]
    assert json.loads(Path(install.STAMP).read_text())["key"] == install.digest()


def test_the_core_alone_does_not_satisfy_who_wants_the_tools(install, tmp_path, monkeypatch):
    have_python(tmp_path)
    Path(install.STAMP).write_text(json.dumps({"key": install.digest(), "root": str(tmp_path), "installed": "core"}))
    ran: list[tuple[str, ...]] = []
    monkeypatch.setattr(install, "pip", lambda *words: ran.append(words))
    install.main(["dev"])
    assert ran[0][-1] == ".[dev]"


def test_a_failing_pip_leaves_no_stamp_and_shows_its_words(install, tmp_path):
    have_python(tmp_path, fails=True)
    with pytest.raises(SystemExit, match="pip could not install"):
        install.pip("install", "x")
    assert not Path(install.STAMP).exists()


@pytest.mark.parametrize(
    ("versions", "large"),
    [
        ("2.15.0, 2.13.0, 2.12.0", True),
        ("2.15.0, 2.13.0+cpu, 2.13.0, 2.12.0", False),
        ("2.13.0, 2.13.0+cpu", False),
        ("2.13.0+cu130, 2.13.0+cpu, 2.13.0", True),
        ("2.15.0, 2.12.0", False),
    ],
)
def test_the_large_torch_is_known_by_the_build_pip_would_choose(install, tmp_path, monkeypatch, versions, large):
    have_python(tmp_path, versions)
    monkeypatch.setattr(install.platform, "system", lambda: "Linux")
    monkeypatch.setattr(install.platform, "machine", lambda: "x86_64")
    assert install.is_large(install.torch_pin()) is large
    monkeypatch.setattr(install.platform, "system", lambda: "Darwin")
    assert install.is_large(install.torch_pin()) is False


def test_a_pip_that_cannot_say_is_passed_over_in_silence(install, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(install.platform, "system", lambda: "Linux")
    monkeypatch.setattr(install.platform, "machine", lambda: "x86_64")
    assert install.is_large("2.13.0") is False
    have_python(tmp_path, fails=True)
    assert install.is_large("2.13.0") is False
    assert capsys.readouterr().out == ""


def test_words_it_does_not_know_are_a_usage_line():
    done = subprocess.run([sys.executable, str(SCRIPT), "everything"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "usage:" in done.stderr
