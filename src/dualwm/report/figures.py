"""The same charts as vector files for a paper, drawn by matplotlib (extra `plots`)."""

from importlib import import_module
from itertools import cycle
from pathlib import Path
from typing import Any

from dualwm.errors import missing_extra
from dualwm.report.charts import Chart, Series, numbered
from dualwm.report.svg import COLOURS

PALETTE = ("#3f6fc4", "#c96a14", "#16868a", "#9a3d86", "#a58b00", "#c0342b", "#5b5fa8", "#5f8f2f")
QUIET = "#8b929b"
DASHES: tuple[Any, ...] = ("--", ":", (0, (7, 2)), "-.", "-")
"""Of quiet lines, which share their colour."""
KINDS = ("pdf", "svg")


def save_figures(charts: list[Chart], folder: Path) -> list[Path]:
    """Every chart as PDF and SVG without dates in them: the same chart gives the same file."""
    try:
        matplotlib, pyplot = import_module("matplotlib"), import_module("matplotlib.pyplot")
    except ImportError as problem:
        raise missing_extra("matplotlib", "plots", 30) from problem
    pyplot.switch_backend("agg")
    assert len(PALETTE) == COLOURS
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    style: dict[str, Any] = {"svg.hashsalt": "dualwm", "svg.fonttype": "none", "pdf.fonttype": 42, "font.size": 9}
    for chart in charts:
        with matplotlib.rc_context(style):
            figure, axes = pyplot.subplots(figsize=(4.2, 2.9), layout="constrained")
            _draw(axes, chart)
            for kind in KINDS:
                files.append(folder / f"{chart.name}.{kind}")
                metadata = {"CreationDate": None} if kind == "pdf" else {"Date": None}
                figure.savefig(files[-1], metadata=metadata)
            pyplot.close(figure)
    return files


def _draw(axes: Any, chart: Chart) -> None:
    dashes = cycle(DASHES)
    for series, colour in numbered(chart.series):
        look = (QUIET, next(dashes)) if colour is None else (PALETTE[colour % COLOURS], "-")
        _line(axes, series, chart.steps, *look)
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)
    axes.set_ylim(-2, 102)
    if chart.ticks:
        axes.set_xticks(chart.ticks)
    else:
        axes.set_xlim(left=0)
    axes.grid(axis="y", linewidth=0.4, alpha=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=7)


def _line(axes: Any, series: Series, steps: bool, colour: str, dashes: Any) -> None:
    xs, ys = [point.x for point in series.points], [point.y for point in series.points]
    look = {"color": colour, "label": series.name, "linewidth": 1.2, "linestyle": dashes}
    if steps:
        axes.step(xs, ys, where="post", **look)
        return
    ends = [(p.y - p.low, p.high - p.y) for p in series.points if p.low is not None and p.high is not None]
    axes.errorbar(xs, ys, yerr=list(zip(*ends, strict=True)), marker="o", markersize=3, capsize=2, **look)
