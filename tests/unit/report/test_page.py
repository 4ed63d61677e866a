"""The demo's page: it carries everything it shows, and shows what the story says."""

import base64
import io
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from report_toy import draw, story, task

from dualwm.report.page import fill, interval, page, script_json
from dualwm.report.sprites import Sprites
from dualwm.stats import Rate


def blob(text: str) -> dict[str, Any]:
    """The story as the page's script reads it."""
    return json.loads(re.findall(r'<script type="application/json" id="story">(.*?)</script>', text, re.S)[0])


def script(text: str) -> str:
    return text.split("<script>")[1].split("</script>")[0]


def test_the_page_asks_for_nothing_outside_itself():
    text = page(story())
    allowed = {"http://www.w3.org/2000/svg"}  # a name, never fetched
    assert set(re.findall(r"\w+://[^\s\"'`)]*", text)) == allowed
    assert not re.findall(r"<(?:link|img|iframe|object|embed)\b", text)
    assert not re.findall(r"\b(?:src|href)=[\"'](?!data:)", text)
    assert "url(" not in text
    assert "@import" not in text
    assert "default-src 'none'; img-src data:" in text


def test_the_same_story_gives_the_same_bytes():
    assert page(story(task(3), task(5))) == page(story(task(3), task(5)))


def test_no_text_can_end_the_script_element():
    evil = '</script ><script>alert("1")</script><!--'
    one = task()
    planners = tuple(replace(planner, label=evil) for planner in story().planners)
    text = page(story(one, planners=planners, facts={"command": evil}))
    assert text.count("</script") == page(story(one)).count("</script")
    assert text.count("<!--") == page(story(one)).count("<!--")
    assert blob(text)["planners"][0]["label"] == evil
    assert json.loads(script_json({"a": evil + "&"})) == {"a": evil + "&"}


def test_facts_are_shown_as_text_and_never_filled_in_again():
    text = page(story(facts={"<b>": "{{story}} & {{scores}}"}))
    assert "<dt>&lt;b&gt;</dt><dd>{{story}} &amp; {{scores}}</dd>" in text
    assert fill("{{a}}-{{b}}", {"a": "{{b}}", "b": "2"}) == "{{b}}-2"


def test_numbers_that_are_not_finite_are_refused():
    one = task()
    broken = replace(one.walks[0], thoughts=(replace(one.walks[0].thoughts[0], distance_low=float("nan")),))
    with pytest.raises(ValueError, match="not JSON compliant"):
        page(story(replace(one, walks=(broken, one.walks[1]))))


def test_every_frame_number_leads_to_the_picture_of_its_state():
    told = blob(page(story()))["tasks"][0]
    sheet = told["sheet"]
    png = base64.b64decode(sheet["png"].removeprefix("data:image/png;base64,"))
    with Image.open(io.BytesIO(png)) as opened:
        pixels = np.asarray(opened.convert("RGB"))
    sights = [told["start"], told["goal"], *(walk["path"] for walk in told["walks"])]
    sights += [t[name] for walk in told["walks"] for t in walk["thoughts"] for name in ("imagined", "subgoal", "route")]
    for points, frames in ((sight["points"], sight["frames"]) for sight in sights):
        for point, frame in zip(points, frames, strict=True):
            row, column = divmod(frame, sheet["columns"])
            side = sheet["side"]
            tile = pixels[row * side : (row + 1) * side, column * side : (column + 1) * side]
            assert (tile == draw(np.array([point]))[0]).all()


def test_a_state_is_drawn_once_however_often_it_is_shown():
    sprites = Sprites(draw)
    first = sprites.add(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
    assert first == (0, 1, 0)
    assert sprites.add(np.array([[3.0, 4.0], [5.0, 6.0]])) == (1, 2)
    assert len(sprites) == len(sprites.frames()) == 3


def test_failures_are_named_in_the_table_and_in_the_data():
    text = page(story(task(3), task(7, full=False)))
    table = text.split("<tbody>")[1].split("</tbody>")[0]
    rows = table.split("<tr>")[1:]
    assert "✓ reached at step 12" in rows[0]
    assert "✗ failed after 12 steps, 3 px away at best" in rows[1]
    assert rows[1].count('class="bad"') == 2
    assert [[walk["success"] for walk in one["walks"]] for one in blob(text)["tasks"]] == [[True, False], [False] * 2]


def test_success_comes_with_its_interval_and_planning_time():
    text = page(story(task(3), task(7, full=False)))
    assert "<b>1 of 2</b>" in text
    assert f"{interval(Rate(1, 2))} · 2.0 ms of planning per environment step" in text
    assert interval(Rate(1, 2)) == "95 % interval 9 to 91 %"


def test_the_data_keeps_every_step_and_decision():
    first, second = blob(page(story()))["tasks"][0]["walks"]
    assert [len(walk["path"]["points"]) for walk in (first, second)] == [13, 21]
    assert [thought["env_step"] for thought in first["thoughts"]] == [0, 5, 10]
    assert first["thoughts"][0]["routed"] is True
    assert first["thoughts"][1]["gaps"] == [1.0, None]


def test_the_script_is_correct_javascript(tmp_path: Path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is needed to check the script: sudo apt-get install nodejs")
    file = tmp_path / "page.js"
    file.write_text(script(page(story())), encoding="utf-8")
    checked = subprocess.run([node, "--check", file], capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked.stderr
