"""Results as SVG, written by hand: speeds on a log axis, and for growth (W8) log-log lines with their exponents."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import ceil, floor, log10
from typing import Any

from bench.alternate import Line, pace
from bench.growth import exponent, points

INK, SOFT, GRID = "#1d2126", "#676f79", "#e3e6ea"
OURS, OTHER, GOAL = "#3f6fc4", "#c96a14", "#16868a"
SERIES = ("#3f6fc4", "#c96a14", "#16868a", "#9a3d86", "#3a4048", "#8b929b")
WIDTH, ROW, LEFT, RIGHT, TOP = 900, 22, 330, 190, 56


def picture(lines: Sequence[Line]) -> str | None:
    """The picture of one workload's lines; None where nothing was timed."""
    runs = [line for line in lines if line["kind"] == "run" and line.get("seconds")]
    if not runs:
        return None
    about = next(line for line in lines if line["kind"] == "about")
    title = f"{about['workload']}: {about['title']}" + (" (quick settings: means nothing)" if about["quick"] else "")
    grown = [line for line in runs if "x" in line]
    if grown:
        return _growth(title, grown)
    return _speeds(title, runs, [line for line in lines if line["kind"] == "verdict"])


def _speeds(title: str, runs: Sequence[Line], verdicts: Sequence[Line]) -> str:
    """One row per side: its speed as a multiple of the case's yardstick, with the range over repeats."""
    rows = [row for case in dict.fromkeys(line["case"] for line in runs) for row in _rows(case, runs, verdicts)]
    marks = [value for row in rows for value in (row["low"], row["high"], row["goal"] or 1.0)]
    axis = Axis(min(0.9, *marks), max(1.1, *marks), LEFT + 8, WIDTH - RIGHT - 8)
    height = TOP + ROW * len(rows) + 30
    parts = [
        *_frame(title, height),
        _text(LEFT, TOP - 14, "times the speed of the case's yardstick; green: the goal", SOFT),
    ]
    parts += _grid_lines(axis, height - 30)
    for number, row in enumerate(rows):
        y = TOP + ROW * number + ROW / 2
        colour = OURS if row["side"].startswith("ours") else OTHER
        ends = [axis.at(row[name]) for name in ("low", "high")]
        parts += [_text(12, y + 4, row["label"], INK)] if row["label"] else []
        parts.append(_text(LEFT - 10, y + 4, row["side"], INK, "end"))
        if row["goal"]:
            x = axis.at(row["goal"])
            parts.append(f'<path d="M{x:.1f} {y - 8:.1f}v16" stroke="{GOAL}" stroke-width="3"/>')
        parts.append(f'<path d="M{ends[0]:.1f} {y:.1f}H{ends[1]:.1f}" stroke="{colour}" stroke-width="3"/>')
        parts.append(f'<circle cx="{axis.at(row["middle"]):.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>')
        parts.append(_text(WIDTH - RIGHT + 12, y + 4, row["pace"], SOFT))
    return _svg(parts, height)


def _rows(case: str, runs: Sequence[Line], verdicts: Sequence[Line]) -> list[dict[str, Any]]:
    mine = [line for line in runs if line["case"] == case]
    sides = {side: [line["seconds"] for line in mine if line["side"] == side] for side in _unique(mine, "side")}
    goals = [v for v in verdicts if v["case"] == case and v["what"] == "times faster" and v["at_least"] is not None]
    others = [v["over"] for v in goals] + [side for side in sides if not side.startswith("ours")] + list(sides)
    yardstick = next(side for side in others if side in sides)
    base = statistics.median(sides[yardstick])
    wanted = {v["side"]: v["at_least"] for v in reversed(goals) if v["over"] == yardstick}
    return [
        {
            "label": case if number == 0 else "",
            "side": side,
            "middle": base / statistics.median(seconds),
            "low": base / max(seconds),
            "high": base / min(seconds),
            "goal": wanted.get(side),
            "pace": pace(statistics.median(seconds), mine[0]["unit"]),
        }
        for number, (side, seconds) in enumerate(sides.items())
    ]


def _growth(title: str, runs: Sequence[Line]) -> str:
    """One panel per case and fact: measured points, and the exponent fitted through them in the legend."""
    panels = [(case, fact) for case in _unique(runs, "case") for fact in ("seconds", "peak_mb")]
    height = TOP + 250 * ceil(len(panels) / 2)
    parts = _frame(title, height)
    for number, (case, fact) in enumerate(panels):
        mine = [line for line in runs if line["case"] == case]
        parts += _panel(mine, case, fact, 60 + (number % 2) * 440, TOP + 250 * (number // 2))
    return _svg(parts, height)


def _panel(runs: Sequence[Line], case: str, fact: str, left: float, top: float) -> list[str]:
    series = {name: points(runs, name, fact) for name in _unique(runs, "series")}
    xs = [x for found in series.values() for x in found]
    ys = [y for found in series.values() for y in found.values()]
    across = Axis(min(xs), max(xs), left, left + 230)
    up = Axis(min(ys), max(ys), top + 190, top + 20)
    name = f"peak MB against {case}" if fact == "peak_mb" else f"seconds against {case}"
    parts = [_text(left, top + 8, name, INK)]
    parts.append(f'<path d="M{left} {top + 20}V{top + 190}H{left + 230}" fill="none" stroke="{SOFT}"/>')
    parts += [_text(across.at(x), top + 206, f"{x:g}", SOFT, "middle") for x in sorted(set(xs))]
    parts += [_text(left - 6, up.at(y) + 4, f"{y:.2g}", SOFT, "end") for y in {min(ys), max(ys)}]
    for number, (which, found) in enumerate(series.items()):
        colour = SERIES[number % len(SERIES)]
        path = " ".join(f"{across.at(x):.1f},{up.at(y):.1f}" for x, y in sorted(found.items()))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{across.at(x):.1f}" cy="{up.at(y):.1f}" r="3" fill="{colour}"/>' for x, y in found.items()
        ]
        slope = f": exponent {exponent(found):.2f}" if len(found) > 1 else ""
        parts.append(_text(left + 240, top + 34 + 18 * number, f"{which}{slope}", colour))
    return parts


class Axis:
    """A log axis between two values, drawn between two places."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low, self.high, self._start, self._end = log10(low), log10(high), start, end

    def at(self, value: float) -> float:
        """Where a value lies."""
        share = (log10(value) - self.low) / max(self.high - self.low, 1e-9)
        return self._start + share * (self._end - self._start)


def _grid_lines(axis: Axis, bottom: float) -> list[str]:
    parts: list[str] = []
    for power in range(floor(axis.low), ceil(axis.high) + 1):
        for value in (1 * 10.0**power, 2 * 10.0**power, 5 * 10.0**power):
            if axis.low <= log10(value) <= axis.high:
                x, colour = axis.at(value), SOFT if value == 1 else GRID
                parts.append(f'<path d="M{x:.1f} {TOP}V{bottom:.1f}" stroke="{colour}"/>')
                parts.append(_text(x, bottom + 16, f"{value:g}", SOFT, "middle"))
    return parts


def _frame(title: str, height: float) -> list[str]:
    back = f'<rect width="{WIDTH}" height="{height:.0f}" fill="#ffffff"/>'
    return [back, f'<text x="12" y="24" font-size="16" fill="{INK}">{escape(title)}</text>']


def _text(x: float, y: float, words: str, colour: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}">{escape(words)}</text>'


def _svg(parts: Sequence[str], height: float) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" font-family="sans-serif" '
    return head + 'font-size="12">\n' + "\n".join(parts) + "\n</svg>\n"


def _unique(lines: Iterable[Mapping[str, Any]], name: str) -> list[Any]:
    return list(dict.fromkeys(line[name] for line in lines))
