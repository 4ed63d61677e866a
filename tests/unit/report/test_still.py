"""The still picture: which task, which steps, which frames."""

import io
from dataclasses import replace

import numpy as np
from PIL import Image, ImageColor
from report_toy import story, task, thought, walk

from dualwm.report.sprites import Sprites
from dualwm.report.still import COLOURS, columns, foreseen, pick, still, still_png
from dualwm.report.story import Sight


def colours(picture: Image.Image) -> set[tuple[int, ...]]:
    return {tuple(pixel) for pixel in np.asarray(picture).reshape(-1, 3).tolist()}


def test_the_task_shown_is_the_first_that_the_first_planner_alone_reached():
    easy, hard, alone = task(1, full=True, flat=True), task(2, full=False), task(4, full=True)
    assert pick(story(hard, easy, alone)).index == 4
    far = replace(task(3, full=True, flat=True), path_px=200.0)
    assert pick(story(hard, easy, far, easy)).index == 3
    assert pick(story(hard)).index == 2


def test_columns_are_decisions_spread_over_the_whole_walk():
    assert columns(walk(Sprites(np.zeros_like), steps=52), 5) == [5, 10, 20, 25, 30, 35, 45, 50]
    assert columns(walk(Sprites(np.zeros_like), steps=12), 5) == [5, 10]
    assert columns(walk(Sprites(np.zeros_like), steps=3), 5) == [5]


def test_a_step_was_foreseen_first_by_the_earliest_decision_that_reached_so_far():
    one = walk(Sprites(np.zeros_like), steps=20)
    assert foreseen(one, 10, 5) == (one.thoughts[0], 1)
    assert foreseen(one, 15, 5) == (one.thoughts[1], 1)
    assert foreseen(one, 12, 5) is None
    blind = replace(one, thoughts=(replace(one.thoughts[0], imagined=Sight(points=np.zeros((0, 2)), frames=())),))
    assert foreseen(blind, 5, 5) is None


def test_the_decision_behind_a_step_is_the_last_one_before_it():
    one = walk(Sprites(np.zeros_like), steps=12)
    assert [one.thought_at(step).env_step for step in (0, 1, 5, 6, 10, 12)] == [0, 0, 0, 5, 5, 10]


def test_the_picture_shows_stages_and_both_walks():
    told = story()
    seen = colours(still(told, told.tasks[0]))
    assert {ImageColor.getrgb(COLOURS[name]) for name in ("refine", "route", "other", "wall", "near")} <= seen
    converging = tuple(thought(told.tasks[0].sprites, step, stage="converge") for step in (0, 5, 10))
    first = replace(told.tasks[0].walks[0], thoughts=converging)
    other = replace(told.tasks[0], walks=(first,))
    alone = replace(told, tasks=(other,), planners=told.planners[:1])
    seen = colours(still(alone, other))
    assert ImageColor.getrgb(COLOURS["converge"]) in seen
    assert ImageColor.getrgb(COLOURS["other"]) not in seen


def test_the_strips_hold_the_very_frames():
    told = story()
    walked = told.tasks[0].walks[0]
    frames = told.tasks[0].sprites.frames()
    seen = colours(still(told, told.tasks[0]))
    imagined = [walked.thoughts[0].imagined.frames[i] for i in (0, 1)]
    for number in (*(walked.path.frames[step] for step in (5, 10)), *imagined, walked.thoughts[0].subgoal.frames[0]):
        assert tuple(frames[number][0, 0].tolist()) in seen


def test_the_file_is_a_png_of_the_size_of_two_readme_columns():
    with Image.open(io.BytesIO(still_png(story()))) as opened:
        assert opened.format == "PNG"
        assert opened.size == (1760, 664)
