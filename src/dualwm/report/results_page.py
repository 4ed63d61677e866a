"""Recorded results as one HTML page that carries everything inside itself: no script, nothing to fetch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

from dualwm.report.card import card, source_of
from dualwm.report.charts import agreement, charts
from dualwm.report.comparison import Compared
from dualwm.report.markdown import sections, shown, task_rows
from dualwm.report.origin import Origin
from dualwm.report.over_worlds import OverWorlds
from dualwm.report.page import fill
from dualwm.report.svg import svg
from dualwm.report.tables import Recorded, Row, Table
from dualwm.report.words import Labels, is_quiet, name_of


@dataclass(frozen=True, kw_only=True)
class Material:
    """All that a report is made of."""

    title: str
    recorded: Recorded
    parts: tuple[Compared, ...]
    origins: Mapping[str, Origin]
    """By the folder's name."""
    labels: Labels
    links: Mapping[str, str]
    """From the page to each folder's outcome file, by the folder's name."""
    summaries: tuple[OverWorlds, ...] = ()
    """Over several worlds, where there are several."""


def results_page(material: Material) -> str:
    """The page; the same material gives the same bytes."""
    template = files("dualwm.report").joinpath("results_template.html").read_text(encoding="utf-8")
    told = "\n".join(
        [
            *(_summary(material, summary) for summary in material.summaries),
            *(_section(material, part, f"t{i}") for i, part in enumerate(material.parts)),
        ]
    )
    return fill(template, {"title": escape(material.title), "sections": told})


def _summary(material: Material, summary: OverWorlds) -> str:
    head, rows = summary.lines(material.labels)
    lines = [_line(escape(first), list(map(escape, rest))) for first, *rest in rows]
    return (
        f"<section><h2>Over {len(summary.tables)} worlds</h2><p>Protocol {escape(summary.protocol)}. Every world "
        "weighs the same. The best other is chosen in each world and at each offset, by its success on these very "
        "tasks.</p>"
        f'<div class="wide">{_table(head[0], head[1:], lines)}</div></section>'
    )


def _section(material: Material, part: Compared, name: str) -> str:
    table = part.table
    told = [
        f"<section><h2>{escape(table.world)}</h2>",
        f"<p>Protocol {escape(table.protocol)}, success rule {escape(table.rule)}.</p>",
        f'<div class="beside"><div>{_results(material, table, name)}</div>{_card(material, table)}</div>',
        _figures(material, table),
        _sentences(part),
        _agreement(material, table),
        _sources(material, table, name),
        "</section>",
    ]
    return "\n".join(told)


def _results(material: Material, table: Table, name: str) -> str:
    offsets = list(table.tasks)
    head = [f"offset {offset}" for offset in offsets]
    told: list[str] = []
    for number, (title, show) in enumerate(sections(table)):
        rows: list[str] = []
        for i, row in enumerate(table.rows):
            cells = [_two_lines(shown(row, offset, show)) for offset in offsets]
            if number == 0:  # the rates themselves say where they come from
                cells = [_linked(text, row, m, f"{name}r{i}") for text, m in zip(cells, offsets, strict=True)]
            rows.append(_line(_name(material, table, row), cells, "quiet" if is_quiet(row) else ""))
        told.append(_table(title, head, rows))
    about = [_line(escape(first), list(map(escape, rest))) for first, *rest in task_rows(table)]
    return "".join([*told, _table("the tasks", head, about)])


def _two_lines(text: str) -> str:
    """A rate with its interval under it, so that columns stay narrow."""
    rate, bracket, interval = escape(text).partition(" [")
    return f"{rate}<small>[{interval}</small>" if bracket else rate


def _linked(text: str, row: Row, offset: int, anchor: str) -> str:
    return f'<a href="#{anchor}o{offset}">{text}</a>' if offset in row.cells else text


def _card(material: Material, table: Table) -> str:
    lines = card(material.recorded, table, material.origins, material.labels)
    head = [f"offset {offset}" for offset in table.tasks]
    return (
        f'<aside class="wide">{_table("protocol card", head, [_merged(name, cells) for name, cells in lines])}</aside>'
    )


def _merged(name: str, cells: Sequence[str]) -> str:
    """A line of the card; what holds at every offset alike is said once."""
    if len(set(cells)) == 1:
        return f'<tr><th scope="row">{escape(name)}</th><td colspan="{len(cells)}">{escape(cells[0])}</td></tr>'
    return _line(escape(name), list(map(escape, cells)))


def _sentences(part: Compared) -> str:
    if not part.duels:
        return ""
    quiet = {row.system for row in part.table.rows if is_quiet(row)}
    others, floors = (
        "".join(f"<li>{escape(duel.sentence())}</li>" for duel in part.duels if (duel.second[0] in quiet) == floor)
        for floor in (False, True)
    )
    told = f"<h3>{escape(part.table.rows[0].system)} against the others, on the same tasks</h3><ul>{others}</ul>"
    against = f"<details><summary>against floors and ceilings</summary><ul>{floors}</ul></details>"
    return told + (against if floors else "")


def _figures(material: Material, table: Table) -> str:
    drawn = [
        f"<figure><figcaption>{escape(chart.title)}</figcaption>{svg(chart)}</figure>"
        for chart in charts(material.recorded, table, material.labels)
    ]
    return f'<div class="charts">{"".join(drawn)}</div>'


def _agreement(material: Material, table: Table) -> str:
    """How often two systems end a task alike, at every offset."""
    told: list[str] = []
    for offset in table.tasks:
        rows = [row for row in table.rows if offset in row.cells]
        names = [_name(material, table, row) for row in rows]
        lines = [
            f'<tr><th scope="row">{name}</th>'
            + "".join(f'<td class="shade" style="--share: {share:.3f}">{100 * share:.0f} %</td>' for share in shares)
            + "</tr>"
            for name, shares in zip(names, agreement(material.recorded, table, offset), strict=True)
        ]
        head = "<th></th>" + "".join(f'<th scope="col">{name}</th>' for name in names)
        told.append(f"<h3>Tasks that ended alike at offset {offset}</h3>{_wide(head, lines)}")
    return "".join(told)


def _sources(material: Material, table: Table, name: str) -> str:
    """One line per rate: the outcome file, the command, weights, versions, and the command that runs it again."""
    lines: list[str] = []
    for i, row in enumerate(table.rows):
        for offset in row.cells:
            folder = source_of(material.recorded, table, row, offset)
            cells = "".join(f"<td>{cell}</td>" for cell in _source(material, row, offset, folder))
            name_cell = f"<td>{_name(material, table, row)}, offset {offset}</td>"
            lines.append(f'<tr id="{name}r{i}o{offset}">{name_cell}{cells}</tr>')
    words = ("rate", "outcomes", "command", "weights", "versions", "run it again")
    head = "".join(f'<th scope="col">{word}</th>' for word in words)
    return f"<h3>Where each rate comes from</h3>{_wide(head, lines, 'text')}"


def _source(material: Material, row: Row, offset: int, folder: str) -> list[str]:
    known = material.origins.get(folder)
    link = material.links.get(folder, "")
    versions = "" if known is None else ", ".join(f"{name} {version}" for name, version in known.versions.items())
    commit = "" if known is None or known.commit is None else f", commit {known.commit[:10]}"
    again = f"dualwm reproduce {folder} --system {row.system} --offset {offset}"
    return [
        f'<a href="{escape(link)}">{escape(folder)}</a>' if link else escape(folder),
        f"<code>{escape(known.command)}</code>" if known is not None and known.command else "not recorded",
        f"<code>{escape(row.weights_digest[:16])}</code>",
        escape(versions + commit) or "not recorded",
        f"<code>{escape(again)}</code>",
    ]


def _name(material: Material, table: Table, row: Row) -> str:
    return escape(name_of(row, table, material.labels))


def _line(first: str, cells: Sequence[str], kind: str = "") -> str:
    told = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr class="{kind}"><th scope="row">{first}</th>{told}</tr>'


def _table(title: str, head: Sequence[str], rows: Sequence[str]) -> str:
    columns = "".join(f'<th scope="col">{escape(word)}</th>' for word in [title, *head])
    return f"<table><thead><tr>{columns}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _wide(head: str, rows: Sequence[str], kind: str = "") -> str:
    """A table that may be wider than the page."""
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="wide"><table class="{kind}">{body}</table></div>'
