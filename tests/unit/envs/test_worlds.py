"""How a world is found, and what every world offers."""

import sys
from importlib.metadata import EntryPoint

import numpy as np
import pytest

from dualwm.envs import base, episodes, get_world, replay, world_names
from dualwm.envs.tworoom import TwoRoom
from dualwm.errors import WorldError


def test_an_unknown_world_is_refused_and_the_near_one_suggested():
    with pytest.raises(WorldError, match=r"'towroom'.*Did you mean 'tworoom'"):
        get_world("towroom")


def test_the_built_in_world_is_found_by_name():
    assert "tworoom" in world_names()
    assert get_world("tworoom") == TwoRoom()


def test_another_package_announces_a_world_by_entry_point(monkeypatch, tmp_path):
    (tmp_path / "their_worlds.py").write_text("from dualwm.envs.tworoom import TwoRoom as Theirs\nWrong = dict\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    announced = [
        EntryPoint("theirs", "their_worlds:Theirs", "dualwm.worlds"),
        EntryPoint("wrong", "their_worlds:Wrong", "dualwm.worlds"),
    ]
    monkeypatch.setattr(base, "entry_points", lambda group: announced if group == "dualwm.worlds" else [])
    assert {"theirs", "tworoom", "wrong"} < set(world_names())
    assert isinstance(get_world("theirs"), TwoRoom)
    with pytest.raises(WorldError, match=r"'wrong'.*it gave a dict"):
        get_world("wrong")
    sys.modules.pop("their_worlds")


def test_episodes_loops_where_a_world_only_knows_one_at_a_time():
    class OneByOne(TwoRoom):
        episodes = None

        def episode(self, seed, max_env_steps=200):
            return {"asked": np.array([seed, max_env_steps])}

    assert [e["asked"].tolist() for e in episodes(OneByOne(), [3, 4], 7)] == [[3, 7], [4, 7]]


def test_episodes_uses_the_fast_way_where_there_is_one():
    world = TwoRoom()
    for together, alone in zip(episodes(world, [5, 6], 30), (world.episode(5, 30), world.episode(6, 30)), strict=True):
        assert together.keys() == alone.keys()
        assert all(together[name].tobytes() == alone[name].tobytes() for name in alone)


def test_replay_returns_the_start_and_every_state_after_it():
    actions = np.array([[[1, 0], [0, 1]]], np.float32)
    path = replay(TwoRoom(), np.array([[50.0, 150.0]]), actions)
    assert path.tolist() == [[[50, 150], [55, 150], [55, 155]]]


def test_the_declared_columns_are_what_an_episode_stores():
    world = TwoRoom()
    episode = world.episode(0, 20)
    stored = {spec.name: spec for spec in world.columns if spec.kind == "array"}
    assert episode.keys() == stored.keys()
    for name, column in episode.items():
        assert (str(column.dtype), column.shape[1:]) == (stored[name].dtype, stored[name].shape)
    (pixels,) = [spec for spec in world.columns if spec.kind == "drawn"]
    assert get_world(pixels.drawer).draw(episode[pixels.draws_from], 16, pixels.camera).dtype == pixels.dtype
