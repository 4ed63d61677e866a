"""What can be drawn of an episode in any world: places, the way left, distances, and what was imagined."""

import json
import re
from dataclasses import replace
from pathlib import Path

import lake
import numpy as np
import pytest
import zoo_toy
from demo_toy import ToySystem
from evaluate_toy import WORLD as INTEGRATOR

from dualwm.cli.main import main
from dualwm.cli.scene import Rooms, scene_of
from dualwm.cli.view import FAN, Viewer, seeing
from dualwm.data.normalize import Normalizer, Scale
from dualwm.envs.base import episodes, get_world, states_of
from dualwm.errors import RecipeError
from dualwm.evaluate.floors import random
from dualwm.plan.trace import Decision
from dualwm.records import Goal, Observation
from dualwm.report.sprites import Sprites
from dualwm.zoo.system import Bank

SOKOBAN = get_world("sokoban")
BOARD = np.array([[1.0, 2.0, 7.0, 7.0, 8.0, 8.0]])
GOAL = np.array([1.0, 4.0, 7.0, 7.0, 8.0, 8.0])


def test_a_world_with_places_on_its_picture_is_mapped_over_the_picture():
    scene = scene_of(SOKOBAN, "gap4")
    assert scene.plane is not None
    assert scene.plane.backdrop
    assert scene.where(BOARD).tolist() == [[224 * 0.25, 224 * 0.15]]
    assert scene.to_go(BOARD, GOAL).tolist() == [2.0]
    assert (scene.unit, scene.to_go_says) == ("cells", "fewest environment steps")
    assert scene.maps(lambda states: (states, states), GOAL) == ()


def test_a_world_without_places_still_has_the_distance_of_its_rule():
    scene = scene_of(lake.WORLD, "moored")
    assert scene.plane is None
    assert scene.where(np.zeros((3, 2))).tolist() == [[0.0, 0.0]] * 3
    assert scene.to_go(np.array([[0.1, 0.1], [0.4, 0.5]]), np.array([0.1, 0.5])).tolist() == pytest.approx([0.4, 0.3])
    assert scene.to_go_says == "distance to the goal by rule moored"


def test_tworoom_has_its_rooms_and_one_latent_map_less_where_there_is_one_level():
    scene = scene_of(get_world("tworoom"), "reach16")
    assert isinstance(scene, Rooms)
    toy = ToySystem()
    assert len(scene.maps(toy.encode_states, np.array([60.0, 60.0]))) == 3
    alone = scene_of(get_world("tworoom"), "reach16")
    assert len(alone.maps(lambda states: (toy.encode_states(states)[0],) * 2, np.array([60.0, 60.0]))) == 2


def test_pictures_that_no_world_drew_keep_their_numbers_among_those_it_did():
    sprites = Sprites(lambda states: np.repeat(states.astype(np.uint8), 12, axis=1).reshape(-1, 2, 2, 3))
    assert sprites.add(np.array([[7.0]])) == (0,)
    assert sprites.add_pictures(np.full((2, 2, 2, 3), 200, np.uint8)) == (1, 2)
    assert sprites.add(np.array([[9.0], [7.0]])) == (3, 0)
    assert sprites.frames()[:, 0, 0, 0].tolist() == [7, 200, 200, 9]


def test_the_fan_holds_the_elites_best_first_and_changes_no_plan():
    toy = ToySystem()
    plain = toy.controller()
    decisions: list[Decision] = []
    for controller in (plain, seeing(plain), replace(plain, fan=2)):
        goal = toy.pool().pairs[100]
        shown = {"proprio": goal.goals[:2].astype(np.float32)}
        memory = controller.start(Goal(proprio=shown), [0, 1], 3)
        seen = Observation(frames={}, proprio={"proprio": goal.starts[:2].astype(np.float32)})
        decisions.append(controller.act(memory, seen)[2])
    without, with_fan, narrow = decisions
    elites = toy.settings.low_search.elites
    assert without.fan.shape[1] == 0
    assert with_fan.fan.shape[1] == FAN
    assert np.isfinite(with_fan.fan).all(axis=(0, 2, 3)).tolist() == [True] * elites + [False] * (FAN - elites)
    assert (with_fan.fan[:, 0] == with_fan.predicted).all()
    assert (narrow.fan == with_fan.fan[:, :2]).all()
    assert (without.predicted == with_fan.predicted).all()
    with pytest.raises(RecipeError, match="three stages"):
        seeing(random(INTEGRATOR))


def test_episodes_of_sokoban_are_viewed_with_their_way_left_in_steps(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made_of = zoo_toy.method(cameras=(("front", 40, 40),), proprio=False)
    made_of = replace(made_of, model=replace(made_of.model, action_dim=SOKOBAN.action_dim))
    toy = zoo_toy.system(made_of)
    task = toy.task | {"world": "sokoban", "rule": "gap4", "variant": "push", "image_size": 40, "action_dim": 5}
    task |= {"action_low": 0.0, "action_high": 1.0, "discrete_values": 5}
    normalizer = Normalizer(scales={"action": Scale(mean=(0.0,) * 5, std=(1.0,) * 5, one_hot=True)})
    toy = replace(toy, task=task, normalizer=normalizer)
    walked = episodes(SOKOBAN, range(3), 60)
    states = np.concatenate([states_of(SOKOBAN.columns, one) for one in walked]).astype(np.float32)
    toy.save(Path("toy"), Bank(states, toy.describe_states(states)))
    taskset = one_task(walked[0], Path("tasks.json"))
    assert main(["eval", "toy", "--tasks", str(taskset), "--out", "run", "--json"]) == 0
    text = Viewer(Path("run")).page("/episode", {"system": "toy", "offset": "25", "seed": "1000", "task": "0"})
    assert text is not None
    story = json.loads(re.findall(r'<script type="application/json" id="story">(.*?)</script>', text, re.S)[0])
    (walk,) = story["tasks"][0]["walks"]
    assert story["plane"]["backdrop"]
    assert story["unit"] == "cells"
    assert walk["to_go"][0] == SOKOBAN.path_env_steps(states[:1], states[25:26])[0]
    assert len(walk["thoughts"][0]["fan"]) == 3
    assert "as it was recorded" in text


def one_task(walked: dict, file: Path) -> Path:
    """A TaskSet of one task: from the first row of an episode to its row 25."""
    from dualwm.evaluate.tasks import save_taskset
    from dualwm.records import Task, TaskSet

    states = states_of(SOKOBAN.columns, walked)
    start, goal = (tuple(states[row].tolist()) for row in (0, 25))
    task = Task(index=0, env_seed=0, start=start, goal=goal, episode=0, start_row=0, initially_solved=False)
    kind = {"world": "sokoban", "rule": "gap4", "collection": "dev", "protocol": "heldout"}
    save_taskset(TaskSet(**kind, goal_offset_env_steps=25, budget_env_steps=20, seed=1000, tasks=(task,)), file)
    return file
