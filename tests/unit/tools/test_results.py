"""README shows what the committed outcome files say, and nothing else."""

import importlib.util
from pathlib import Path
from types import ModuleType

from dualwm.report.readme import replace_block

ROOT = Path(__file__).resolve().parents[3]


def load_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("results_tool", ROOT / "tools" / "results.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_readme_shows_the_recorded_outcomes() -> None:
    tool, readme = load_tool(), (ROOT / "README.md").read_text(encoding="utf-8")
    assert replace_block(readme, "results", tool.block(ROOT / "results")) == readme


def test_without_outcomes_nothing_is_claimed(tmp_path: Path) -> None:
    tool = load_tool()
    assert tool.block(tmp_path) == tool.NOTHING
