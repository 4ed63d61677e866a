"""The list of a run's episodes as one page, with filters: what `dualwm view` opens with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from urllib.parse import urlencode

from dualwm.records import Outcome
from dualwm.report.page import fill

Key = tuple[str, int, int, int]
"""System, goal offset, seed, task."""

FILTERS = ("outcome", "label", "stage", "system", "offset", "seed")


@dataclass(frozen=True, kw_only=True)
class Listed:
    """One episode of the list."""

    outcome: Outcome
    label: str
    """Why it failed; empty where it did not, or where nobody has asked."""
    stage: str = ""
    """What its last decision was for: refine, converge or reuse; empty where it was not run again yet."""

    @property
    def key(self) -> Key:
        """What it is found by."""
        o = self.outcome
        return o.system, o.goal_offset_env_steps, o.seed, o.task

    def traits(self) -> Mapping[str, str]:
        """What can be filtered by."""
        o = self.outcome
        label = self.label or ("" if o.success else "not labelled")
        ended = "solved" if o.success else "failed"
        values = (ended, label, self.stage, o.system, str(o.goal_offset_env_steps), str(o.seed))
        return dict(zip(FILTERS, values, strict=True))


def episodes_page(name: str, listed: Sequence[Listed], failures: bool) -> str:
    """The page. `failures` chooses the failed ones to begin with; the reader may choose again."""
    template = files("dualwm.report").joinpath("episodes_template.html").read_text(encoding="utf-8")
    failed = sum(not one.outcome.success for one in listed)
    chosen = {"outcome": "failed"} if failures else {}
    parts = {
        "name": escape(name),
        "count": f"{len(listed)} episodes, {failed} failed",
        "filters": "".join(_filter(trait, listed, chosen.get(trait, "")) for trait in FILTERS),
        "rows": "\n".join(map(_row, listed)),
    }
    return fill(template, parts)


def link(key: Key) -> str:
    """Where an episode's page is."""
    return "/episode?" + urlencode(dict(zip(("system", "offset", "seed", "task"), key, strict=True)))


def _filter(trait: str, listed: Sequence[Listed], chosen: str) -> str:
    values = sorted({one.traits()[trait] for one in listed} - {""}, key=lambda text: (len(text), text))
    options = "".join(
        f'<option value="{escape(value)}"{" selected" if value == chosen else ""}>{escape(value)}</option>'
        for value in values
    )
    return f'<label>{trait} <select name="{trait}"><option value="">all</option>{options}</select></label>'


def _row(one: Listed) -> str:
    o, traits = one.outcome, one.traits()
    data = " ".join(f'data-{name}="{escape(value)}"' for name, value in traits.items())
    path = f"path {o.facts['path_px']:.0f} px" if "path_px" in o.facts else ""
    about = path or " · ".join(f"{name} {value:.3g}" for name, value in sorted(o.facts.items()))
    mark, kind = ("✓ solved", "good") if o.success else ("✗ failed", "bad")
    cells = (str(o.task), escape(o.system), str(o.goal_offset_env_steps), str(o.seed))
    shown = "".join(f"<td>{cell}</td>" for cell in cells[1:])
    return (
        f'<tr {data}><th scope="row"><a href="{escape(link(one.key))}">task {cells[0]}</a></th>{shown}'
        f'<td class="{kind}">{mark}</td><td>{escape(one.label)}</td><td>{escape(one.stage)}</td><td>{o.steps}</td>'
        f"<td>{o.distance:.3g}</td><td>{escape(about)}</td></tr>"
    )
