"""The behaviour that Cube data is recorded from: OGBench's oracles carrying the block from target to target.

Block and arm start anywhere, at rest. An oracle picks the block up, carries it to a target elsewhere on the table and
goes away; as soon as it is done there is a new target, so that the block is on its way through the whole episode. An
episode has one of two kinds of oracle:

    markov   acts on what it sees now; Gaussian noise on its actions, as strong as a level drawn for the episode
    plan     follows a path planned once for every target, with smooth noise on the path

Episode i is a pure function of its seed: start, choices and noise each have a Philox stream keyed by (seed, purpose).
The oracles draw from numpy's global generator; it is seeded for them from the choices and put back.
Lowering `max_env_steps` only cuts an episode off.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dualwm.envs import cube_core as core
from dualwm.envs.cube_core import ACTION_WIDTH, CONTROL_SECONDS, REST_HEIGHT, STATE_WIDTH, TABLE_HIGH, TABLE_LOW

States = NDArray[np.float64]

_START, _CHOICES, _NOISE = (0xC0BE_0000 + purpose for purpose in range(3))
"""Second halves of the Philox keys: what the numbers are for."""
_NOISE_SHAPE = np.array([1.0, 1.0, 1.0, 3.0, 10.0])
"""How strong the noise is on the components of an action, for a level of 1."""

_Made = TypeVar("_Made")


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """The numbers of the recipe."""

    plan_share: float = 0.5
    """Probability that an episode's oracle is of the plan kind."""
    noise_level: float = 0.1
    """Markov: the level is drawn uniformly up to this."""
    plan_noise: float = 0.1
    plan_noise_smoothing: float = 0.5
    least_carry_m: float = 0.15
    """A new target lies at least this far from where the block is."""
    slowest: float = 0.4
    """Markov: least length in metres that a wish to move is stretched to before it is clipped."""


def generate(seeds: Sequence[int], max_env_steps: int, law: Behaviour) -> list[tuple[States, NDArray[np.float32]]]:
    """States (T+1, 41) and actions (T, 5) of one episode per seed."""
    assert max_env_steps >= 1, max_env_steps
    return [_episode(seed, max_env_steps, law) for seed in seeds]


def _episode(seed: int, max_env_steps: int, law: Behaviour) -> tuple[States, NDArray[np.float32]]:
    bench, choices = core.here(), _stream(seed, _CHOICES)
    markov = choices.random() >= law.plan_share
    level = choices.random() * law.noise_level if markov else 0.0
    noise = _stream(seed, _NOISE).standard_normal((max_env_steps, ACTION_WIDTH)) * level * _NOISE_SHAPE
    states = np.empty((max_env_steps + 1, STATE_WIDTH))
    actions = np.empty((max_env_steps, ACTION_WIDTH), np.float32)
    states[0] = bench.start(int(_stream(seed, _START).integers(1 << 31)))
    oracle, target = _oracle(bench.env, markov, law), np.zeros(7)
    for t in range(max_env_steps):
        anew = t == 0 or oracle.done
        if anew:
            target = _target(choices, states[t, core.BLOCK], law)
        bench.set_target(target)
        info = {**bench.env.compute_ob_info(), "time": np.array([t * CONTROL_SECONDS])}
        if anew:
            _with_global_generator_at(int(choices.integers(1 << 32)), lambda info=info: oracle.reset(None, info))
        actions[t] = np.clip(oracle.select_action(None, info) + noise[t], -1.0, 1.0)
        states[t + 1] = bench.step(states[t], actions[t].astype(np.float64))
    return states, actions


def _oracle(env: Any, markov: bool, law: Behaviour) -> Any:
    oracles = importlib.import_module(
        "ogbench.manipspace.oracles." + ("markov.cube_markov" if markov else "plan.cube_plan")
    )
    if markov:
        return oracles.CubeMarkovOracle(env=env, min_norm=law.slowest)
    return oracles.CubePlanOracle(env=env, noise=law.plan_noise, noise_smoothing=law.plan_noise_smoothing)


def _target(choices: np.random.Generator, block: States, law: Behaviour) -> States:
    """A pose (7,) of the block on the table, any angle, not near the block's place (3,)."""
    place = choices.uniform(TABLE_LOW, TABLE_HIGH)
    while np.hypot(*(place - block[:2])) < law.least_carry_m:
        place = choices.uniform(TABLE_LOW, TABLE_HIGH)
    yaw = choices.uniform(0, 2 * np.pi)
    return np.array([*place, REST_HEIGHT, np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2)])


def _with_global_generator_at(seed: int, work: Callable[[], _Made]) -> _Made:
    """What the work makes with numpy's global generator seeded; the generator is put back."""
    kept = np.random.get_state(legacy=False)
    try:
        np.random.seed(seed)
        return work()
    finally:
        np.random.set_state(kept)


def _stream(seed: int, purpose: int) -> np.random.Generator:
    assert seed >= 0, seed
    return np.random.Generator(np.random.Philox(key=np.array([seed, purpose], np.uint64)))


class Expert:
    """OGBench's Markov oracle told to bring the block to where a goal has it, and then the gripper."""

    def __init__(self, bench: core.Bench):
        self._bench = bench
        self._oracle = _oracle(bench.env, True, Behaviour())
        _with_global_generator_at(0, lambda: self._oracle.reset(None, None))

    def act(self, state: States, goal: States) -> States:
        """Its action (5,). Contact tells it whether the fingers hold the block, as forces are no part of a state."""
        bench, oracle = self._bench, self._oracle
        oracle._final_pos = bench.gripper(goal)
        bench.load(state)
        bench.set_target(goal[core.BLOCK.start : core.BLOCK_TURN.stop])
        info = bench.env.compute_ob_info()
        info["proprio/gripper_contact"] = np.array([float(bench.touching() >= core.PADS)])
        return oracle.select_action(None, info)
