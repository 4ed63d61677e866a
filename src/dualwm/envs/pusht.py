"""PushT as a `World`: a round agent, a T-shaped block to be pushed, and a goal that only its picture shows."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualwm.envs import pusht_behaviour, pusht_core as core, pusht_draw, pusht_push
from dualwm.envs.base import Column, Floats, choose, drawn_column, state_rows
from dualwm.envs.pure import PureSimulation
from dualwm.envs.pusht_behaviour import Behaviour
from dualwm.envs.pusht_core import AGENT, ANGLE, BLOCK, BLOCK_SPEED, BOARD
from dualwm.errors import WorldError
from dualwm.records import ColumnSpec

REACH, TURN = 20.0, np.pi / 9
"""Units and radians: a goal is reached where places and angle are nearer to it than this."""
STILL = 20.0
"""Units per second below which something counts as resting; a radian per second of the block counts 70."""


@dataclass(frozen=True, kw_only=True)
class PushT:
    """States are places and velocities of agent and block (see `pusht_core`); an action pulls the agent to a place.

    A goal is a state whose places and angle count. `pose`, the rule of the authors' release: the places of agent and
    block, taken together as one point of four coordinates, are less than 20 units from it, and the block's angle less
    than 20 degrees. `block` asks for the block alone. `hold` is `pose` with everything at rest.
    """

    behaviour: Behaviour = field(default_factory=Behaviour)

    name = "pusht"
    action_dim = 2
    discrete = False
    action_low = -1.0
    action_high = 1.0
    cameras = ("front",)
    state_width = core.STATE_WIDTH
    rules = ("pose", "block", "hold")
    one_way_rules = ("hold",)
    resting_rules = ("hold",)
    variants = ("push",)
    columns = (
        ColumnSpec(name="state", kind="array", dtype="float64", shape=(core.STATE_WIDTH,), role="state"),
        ColumnSpec(name="proprio", kind="array", dtype="float32", shape=(4,), role="proprio"),
        ColumnSpec(name="action", kind="array", dtype="float32", shape=(2,), role="action"),
        drawn_column("pusht", "state"),
    )

    @property
    def behaviour_law(self) -> Mapping[str, Any]:
        """The recipe `episode` follows, as plain data."""
        return {"name": "scripted pushes towards random poses, with weak contact between", **asdict(self.behaviour)}

    def simulate(self, starts: Floats, seeds: Sequence[int], variant: str = "push") -> PureSimulation:
        """b boards set to `starts`. The motion is not random: the seeds change nothing."""
        assert len(seeds) == len(starts), (len(seeds), len(starts))
        choose("dynamics variant", variant, self.variants, self.name)
        return PureSimulation(self, starts, core.step)

    def draw(self, states: Floats, size: int, camera: str = "front") -> NDArray[np.uint8]:
        """Pictures (b, size, size, 3); a batch gives the bytes of its rows drawn one by one."""
        choose("camera", camera, self.cameras, self.name)
        if size < 1:
            raise WorldError(f"A picture of PushT needs a side of at least 1 pixel; asked for {size}.")
        return pusht_draw.draw(state_rows("states", states, self.state_width), size)

    def proprio(self, states: Floats) -> dict[str, NDArray[np.float32]]:
        """Place and velocity of the agent."""
        return {"proprio": np.concatenate([states[:, AGENT], states[:, core.AGENT_SPEED]], axis=1).astype(np.float32)}

    def success(
        self, states: Floats, goals: Floats, rule: str = "pose"
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Whether each goal is reached, and the distance in units, where 20 degrees count as 20 units and being as fast
        as may still be called resting too."""
        choose("success rule", rule, self.rules, self.name)
        here, there = states.astype(np.float64), goals.astype(np.float64)
        apart = _length((here - there)[:, BLOCK if rule == "block" else slice(0, 4)])
        worst = np.maximum(apart, REACH / TURN * pusht_push.angle_gap(here[:, ANGLE], there[:, ANGLE]))
        if rule == "hold":
            worst = np.maximum(worst, REACH / STILL * _speed(here))
        return worst < REACH, worst

    def planar(self, states: Floats) -> NDArray[np.float64]:
        """Where on the picture the block's centre of gravity is, as shares of its width and height, (b, 2)."""
        return np.clip(pusht_push.centres(states.astype(np.float64)) / BOARD, 0.0, 1.0)

    def facts(self, start: Floats, goal: Floats) -> dict[str, float]:
        """`block_px` and `turn_rad`, how far the block has to go and turn; `agent_px`; `contact`, 0 or 1: whether the
        agent alone could not solve it."""
        starts, goals = np.atleast_2d(start).astype(np.float64), np.atleast_2d(goal).astype(np.float64)
        return {
            "block_px": float(_length(pusht_push.centres(goals) - pusht_push.centres(starts))[0]),
            "turn_rad": float(pusht_push.angle_gap(starts[:, ANGLE], goals[:, ANGLE])[0]),
            "agent_px": float(_length((goals - starts)[:, AGENT])[0]),
            "contact": float(~self.success(starts, goals, "block")[0][0]),
        }

    def expert_action(self, states: Floats, goals: Floats) -> NDArray[np.float32]:
        """A scripted pusher without memory, (b, 2). It is no ceiling: about four in five tasks at offset 100."""
        return pusht_push.expert_action(states.astype(np.float64), goals.astype(np.float64)).astype(np.float32)

    def episode(self, seed: int, max_env_steps: int = 200) -> dict[str, Column]:
        """One episode of the behaviour; see `pusht_behaviour` for the recipe."""
        return self.episodes([seed], max_env_steps)[0]

    def episodes(self, seeds: Sequence[int], max_env_steps: int = 200) -> list[dict[str, Column]]:
        """One episode per seed, simulated together; the same bytes as one by one."""
        return [self._columns(*walk) for walk in pusht_behaviour.generate(seeds, max_env_steps, self.behaviour)]

    def _columns(self, states: NDArray[np.float64], actions: NDArray[np.float32]) -> dict[str, Column]:
        """Row t is the state at t and the action taken from it; the last row's action was never taken and is NaN."""
        never = np.full((1, 2), np.nan, np.float32)
        return {"state": states, **self.proprio(states), "action": np.concatenate([actions, never])}


def _length(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.sqrt((vectors * vectors).sum(axis=1))


def _speed(states: NDArray[np.float64]) -> NDArray[np.float64]:
    """That of the agent or of the block, whichever is faster."""
    block = states[:, BLOCK_SPEED] * (1.0, 1.0, pusht_push.RADIUS)
    return np.maximum(_length(states[:, core.AGENT_SPEED]), _length(block))
