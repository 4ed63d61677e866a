"""Worlds: simulators that are set to a state, stepped many at a time, drawn at any size and judged by a named rule.

This room knows nothing of models, data sets or evaluation. `get_world("tworoom")` gives a `World`; importing the room
also registers the Gymnasium environments, so `gymnasium.make("dualwm.envs:dualwm/TwoRoom-v0")` works from anywhere, and
`gymnasium.make("dualwm/TwoRoom-v0")` once this room is imported: Gymnasium looks for no plugins since its version 1.
"""

import gymnasium

from dualwm.envs.base import Simulation, World, drawn_column, episodes, get_world, replay, world_names
from dualwm.envs.pure import PureSimulation

__all__ = ["PureSimulation", "Simulation", "World", "drawn_column", "episodes", "get_world", "replay", "world_names"]

if "dualwm/TwoRoom-v0" not in gymnasium.registry:
    gymnasium.register(id="dualwm/TwoRoom-v0", entry_point="dualwm.envs.tworoom_gym:TwoRoomEnv", max_episode_steps=100)
if "dualwm/Reacher-v0" not in gymnasium.registry:
    gymnasium.register(id="dualwm/Reacher-v0", entry_point="dualwm.envs.reacher_gym:ReacherEnv", max_episode_steps=125)
if "dualwm/Sokoban-v0" not in gymnasium.registry:
    gymnasium.register(id="dualwm/Sokoban-v0", entry_point="dualwm.envs.sokoban_gym:SokobanEnv", max_episode_steps=125)
if "dualwm/PushT-v0" not in gymnasium.registry:
    gymnasium.register(id="dualwm/PushT-v0", entry_point="dualwm.envs.pusht_gym:PushTEnv", max_episode_steps=125)
if "dualwm/Cube-v0" not in gymnasium.registry:
    gymnasium.register(id="dualwm/Cube-v0", entry_point="dualwm.envs.cube_gym:CubeEnv", max_episode_steps=125)
