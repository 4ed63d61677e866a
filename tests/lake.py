"""A boat on a lake: a whole world in one file, as docs/worlds/your-own.md shows it below this line."""

import numpy as np

from dualwm.envs import PureSimulation, drawn_column
from dualwm.records import ColumnSpec


class Lake:
    name, action_dim, discrete, action_low, action_high, state_width = "lake", 2, False, -1.0, 1.0, 2
    cameras, rules, variants = ("above",), ("moored",), ("calm",)
    behaviour_law = {"name": "sails to a random place, not quite straight", "noise_std": 0.5}
    columns = (
        ColumnSpec(name="place", kind="array", dtype="float64", shape=(2,), role="state"),
        ColumnSpec(name="proprio", kind="array", dtype="float32", shape=(2,), role="proprio"),
        ColumnSpec(name="action", kind="array", dtype="float32", shape=(2,), role="action"),
        drawn_column("lake", "place", camera="above"),
    )

    def simulate(self, starts, seeds, variant="calm"):
        return PureSimulation(self, starts, lambda places, actions: np.clip(places + 0.03 * actions, 0.1, 0.9))

    def draw(self, states, size, camera="above"):
        ticks = (np.arange(4 * size) + 0.5) / (4 * size)  # four times as fine as the picture, then averaged
        away = np.hypot(ticks - states[:, :1, None], ticks[:, None] - states[:, 1:, None])
        boat = (away < 0.06).reshape(len(states), size, 4, size, 4).mean(axis=(2, 4))[..., None]
        return np.rint(boat * (250, 240, 220) + (1 - boat) * (40, 90, 160)).astype(np.uint8)

    def proprio(self, states):
        return {"proprio": states.astype(np.float32)}

    def success(self, states, goals, rule="moored"):
        distance = np.hypot(*(states - goals).T)
        return distance < 0.05, distance

    def facts(self, start, goal):
        return {"distance": float(np.hypot(*(goal - start)))}

    def episode(self, seed, max_env_steps=200):
        random = np.random.Generator(np.random.Philox(key=seed))
        (start, target), noise = random.uniform(0.1, 0.9, (2, 2)), random.normal(0, 0.5, (max_env_steps, 2))
        sailing, places, actions = self.simulate(start[None], [seed]), [start], []
        for gust in noise:
            heading = (target - places[-1]) / max(np.hypot(*(target - places[-1])), 0.03)
            actions.append(np.clip(heading + gust, -1, 1).astype(np.float32))
            places.append(sailing.step(actions[-1][None])[0])
        actions.append(np.full(2, np.nan, np.float32))  # the last row's action is never taken
        return {"place": np.array(places), **self.proprio(np.array(places)), "action": np.array(actions)}


WORLD = Lake()
