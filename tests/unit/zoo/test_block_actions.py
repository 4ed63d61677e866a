"""Blocks that a planner chose, back to what a world executes."""

import numpy as np
import torch

from dualwm.data.normalize import Normalizer, Scale
from dualwm.zoo.planning import BlockActions


def test_a_block_of_keys_becomes_one_key_per_environment_step():
    """Keys have no scale: the normaliser knows no such column, and is not asked."""
    keys = BlockActions(
        frame_skip=2, action_dim=3, low=(0,), high=(1,), normalizer=Normalizer(scales={}), discrete_values=3
    )
    block = torch.tensor([[0.1, 0.7, 0.2, 0.0, 0.0, 1.0]])
    assert keys.to_env(block).tolist() == [[[0, 1, 0], [0, 0, 1]]]


def test_a_block_of_numbers_goes_back_to_the_worlds_units_and_into_its_box():
    scale = Normalizer(scales={"action": Scale(mean=(0.5, 0.0), std=(0.5, 2.0))})
    actions = BlockActions(frame_skip=2, action_dim=2, low=(-1,), high=(1,), normalizer=scale)
    env = actions.to_env(torch.tensor([[0.0, 0.25, 3.0, -3.0]]))
    np.testing.assert_allclose(env, [[[0.5, 0.5], [1.0, -1.0]]])
