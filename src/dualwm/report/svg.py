"""Charts as SVG that a page carries inside itself: its colours are the page's, so it is light or dark with it."""

from collections.abc import Sequence
from html import escape

from dualwm.report.charts import Chart, Point, Series, even_ticks, numbered

WIDTH, HEIGHT = 520, 330
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 12, 40
COLOURS = 8
"""Classes c0 to c7 of the page's style sheet; `quiet` for floors and ceilings."""
DASHES = 5
"""Classes q0 to q4 of quiet lines."""


def svg(chart: Chart) -> str:
    """The drawing. Text is text, so it can be found, copied and read aloud."""
    paper = _Paper(chart)
    parts = [*paper.axes(), *(part for one, look in _looks(chart) for part in paper.series(one, look))]
    title = f"<title>{escape(chart.title)}</title>"
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" xmlns="http://www.w3.org/2000/svg">{title}'
        f"{''.join(parts)}</svg>{legend(chart)}"
    )


def legend(chart: Chart) -> str:
    """Which line is whose."""
    line = '<svg class="chart"><g class="{}"><line x1="0" x2="26" y1="2" y2="2"/></g></svg>'
    items = [f"<span>{line.format(look)}{escape(one.name)}</span>" for one, look in _looks(chart)]
    return f'<div class="legend">{"".join(items)}</div>'


class _Paper:
    """Where things lie, for one chart."""

    def __init__(self, chart: Chart) -> None:
        self._chart = chart
        xs = [point.x for one in chart.series for point in one.points] or [1.0]
        self._ticks = list(chart.ticks) or even_ticks(max(xs))
        margin = 0.04 * (max(self._ticks) - min(self._ticks)) if chart.ticks else 0.0
        self._low, self._high = min(self._ticks) - margin, max(self._ticks) + margin

    def _x(self, value: float) -> float:
        span = (self._high - self._low) or 1.0
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - self._low) / span

    def _y(self, value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / 100

    def axes(self) -> list[str]:
        """Lines at every quarter, numbers, and what they count."""
        parts: list[str] = []
        for value in (0, 25, 50, 75, 100):
            y = self._y(value)
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value}</text>')
        under = f'y="{HEIGHT - BOTTOM + 16}" text-anchor="middle"'
        parts += [f'<text x="{self._x(value):.1f}" {under}>{value:g}</text>' for value in self._ticks]
        middle = (LEFT + WIDTH - RIGHT) / 2
        parts.append(f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">{escape(self._chart.x_label)}</text>')
        up = f'transform="translate(11 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)"'
        return [*parts, f'<text {up} text-anchor="middle">{escape(self._chart.y_label)}</text>']

    def series(self, series: Series, look: str) -> list[str]:
        """One line with its intervals and dots."""
        line = f'<polyline points="{self._line(series.points)}"><title>{escape(series.name)}</title></polyline>'
        marks = [] if self._chart.steps else [self._mark(point, series.name) for point in series.points]
        return [f'<g class="{look}">', line, *marks, "</g>"]

    def _line(self, points: Sequence[Point]) -> str:
        places: list[tuple[float, float]] = []
        for point in points:
            if self._chart.steps and places:
                places.append((self._x(point.x), places[-1][1]))
            places.append((self._x(point.x), self._y(point.y)))
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)

    def _mark(self, point: Point, name: str) -> str:
        x, y = self._x(point.x), self._y(point.y)
        says = f"<title>{escape(point.says if name in point.says else f'{name}: {point.says}')}</title>"
        bar = ""
        if point.low is not None and point.high is not None:
            bar = f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{self._y(point.low):.1f}" y2="{self._y(point.high):.1f}"/>'
        return f'<g>{says}{bar}<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5"/></g>'


def _looks(chart: Chart) -> list[tuple[Series, str]]:
    """Every series with its classes: a colour each, but floors and ceilings are grey and differ in their dashes."""
    floors = iter(range(len(chart.series)))
    return [
        (one, f"quiet q{next(floors) % DASHES}" if colour is None else f"c{colour % COLOURS}")
        for one, colour in numbered(chart.series)
    ]
