"""The demo as one HTML page that carries everything inside itself: it opens from disk and asks for nothing else."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from html import escape
from importlib.resources import files
from typing import Any

from dualwm.report.sprites import data_uri
from dualwm.report.story import PlannerStory, Story, TaskStory, Walk
from dualwm.stats import Rate


def page(story: Story) -> str:
    """The page. What is in it is fixed by the story: the same story gives the same bytes."""
    template = files("dualwm.report").joinpath("page_template.html").read_text(encoding="utf-8")
    back = f'<p class="back"><a href="{escape(story.back)}">all episodes</a></p>' if story.back else ""
    parts = {
        "title": escape(story.title),
        "intro": escape(story.intro),
        "back": back,
        "scores": "\n".join(_score(planner) for planner in story.planners),
        "table": _table(story),
        "facts": _facts(story.facts),
        "story": script_json(_plain(story)),
    }
    return fill(template, parts)


def fill(template: str, parts: Mapping[str, str]) -> str:
    """`template` with every `{{name}}` replaced; what is put in is not looked at again."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def script_json(data: Any) -> str:
    """JSON that may stand inside a script element: no text in it can end the element."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def interval(rate: Rate) -> str:
    """Wilson's 95 % interval in words."""
    if rate.ci95 is None:
        return "no tasks"
    low, high = rate.ci95
    return f"95 % interval {100 * low:.0f} to {100 * high:.0f} %"


def ending(walk: Walk, unit: str = "px") -> str:
    """How a walk ended, in words."""
    if walk.success:
        return f"reached at step {walk.steps}"
    away = f"{walk.closest:.0f}" if walk.closest >= 10 or unit == "px" else f"{walk.closest:.2g}"
    return f"failed after {walk.steps} steps, {away} {unit}".rstrip() + " away at best"


def _plain(story: Story) -> dict[str, Any]:
    return {
        "plane": None if story.plane is None else asdict(story.plane),
        "grid": None if story.grid is None else story.grid.to_plain(),
        "unit": story.unit,
        "to_go_says": story.to_go_says,
        "imagined_says": story.imagined_says,
        "budget": story.budget_env_steps,
        "ahead": story.env_steps_per_prediction,
        "planners": [{"name": planner.name, "label": planner.label} for planner in story.planners],
        "tasks": [_task(task, story.unit) for task in story.tasks],
    }


def _task(task: TaskStory, unit: str) -> dict[str, Any]:
    sheet = task.sprites.sheet()
    return {
        "index": task.index,
        "path_px": None if task.path_px is None else round(task.path_px),
        "start": task.start.to_plain(),
        "goal": task.goal.to_plain(),
        "walks": [walk.to_plain() | {"ending": ending(walk, unit)} for walk in task.walks],
        "maps": [heat.to_plain() for heat in task.maps],
        "sheet": {"png": data_uri(sheet.png), "columns": sheet.columns, "side": sheet.side},
    }


def _score(planner: PlannerStory) -> str:
    timed = planner.planning_ms_per_env_step
    pace = "" if timed is None else f" · {timed:.1f} ms of planning per environment step"
    rate = planner.success
    return (
        f'<div class="score {escape(planner.name)}"><b>{rate.successes} of {rate.n}</b> '
        f"<span>{escape(planner.label)}</span><small>{interval(rate)}{pace}</small></div>"
    )


def _table(story: Story) -> str:
    head = "".join(f'<th scope="col">{escape(planner.label)}</th>' for planner in story.planners)
    return (
        f'<table><thead><tr><th scope="col">task</th><th scope="col">shortest path</th>{head}</tr></thead>'
        f"<tbody>{''.join(_row(task, story.unit) for task in story.tasks)}</tbody></table>"
    )


def _row(task: TaskStory, unit: str) -> str:
    path = "" if task.path_px is None else f"{task.path_px:.0f} px"
    walks = "".join(_outcome(walk, unit) for walk in task.walks)
    return f'<tr><th scope="row">{task.index}</th><td>{path}</td>{walks}</tr>'


def _outcome(walk: Walk, unit: str) -> str:
    kind, mark = ("good", "✓") if walk.success else ("bad", "✗")
    return f'<td class="{kind}">{mark} {ending(walk, unit)}</td>'


def _facts(facts: Mapping[str, str]) -> str:
    return "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.items())
