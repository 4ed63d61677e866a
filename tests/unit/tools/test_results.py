"""README shows what the committed outcome files say, and nothing else."""

import importlib.util
from pathlib import Path
from types import ModuleType

from dualwm.report.readme import replace_block
from dualwm.report.tables import Cell, Row, Table, Tasks
from dualwm.stats import Rate

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


def table(**fractions: dict[int, float]) -> Table:
    """Rows of 200 tasks each; `seed1` stands for the run of training seed 1."""
    names = {"shipped": "tworoom", "seed1": "runs/tworoom-laptop-1", "low": "tworoom:low-only"}
    rows = tuple(
        Row(
            system=names[row],
            weights_digest="w",
            cells={
                m: Cell(
                    success=(rate := Rate(round(200 * f), 200)),
                    hard=rate,
                    not_initially_solved=rate,
                    planning_ms_per_env_step=None,
                )
                for m, f in cells.items()
            },
        )
        for row, cells in fractions.items()
    )
    offsets = {m for cells in fractions.values() for m in cells}
    nothing = Rate(0, 200)
    some = {
        m: Tasks(
            n=200,
            seeds=(0,),
            budget_env_steps=1,
            initially_solved=nothing,
            hard=nothing,
            path_px=None,
            digests=(),
        )
        for m in sorted(offsets)
    }
    return Table(world="tworoom", rule="r", protocol="heldout", tasks=some, rows=rows)


def test_a_wide_range_over_training_seeds_is_named() -> None:
    tool = load_tool()
    wide = table(shipped={25: 1.0, 100: 0.99}, seed1={25: 0.98, 100: 0.93}, low={25: 0.1, 100: 0.1})
    assert tool.seed_note(wide) == (
        "Range of the success of 2 training seeds: 2.0 points at offset 25, 6.0 points at offset 100. "
        "**More than 5 points at offset 100**."
    )
    narrow = table(shipped={25: 1.0, 100: 0.99}, seed1={100: 0.97})
    assert tool.seed_note(narrow) == (
        "Range of the success of 2 training seeds: 2.0 points at offset 100. None is above 5 points."
    )
    assert tool.seed_note(table(shipped={100: 0.99}, low={100: 0.5})) is None


def test_the_papers_figures_stand_apart_and_say_what_differs() -> None:
    text = load_tool().quoted(ROOT / "results" / "quoted" / "tworoom.json")
    assert "other data" in text.splitlines()[0]
    assert "| Dual-WM, from scratch | 100.0 % | 99.33 % | 92.5 % |" in text
