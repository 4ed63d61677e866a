"""The faults that `make mutants` plants: one line each, with the test that must catch it.

`old` must occur exactly once in `file`; take as much of the line as that needs. `test` is a pytest node id, as narrow
as possible: only that test is run. A fault is a slip a person could make and a smooth loss would hide, no syntax error.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    file: str
    old: str
    new: str
    test: str


MUTANTS: tuple[Mutant, ...] = (
    # TwoRoom: motion, success, pictures, shortest ways, behaviour
    Mutant(
        "src/dualwm/envs/tworoom_core.py",
        "hit = beyond & ~in_band(new[:, 1])",
        "hit = beyond & ~in_band(old[:, 1])",
        "tests/unit/envs/test_tworoom_motion.py::test_snap_tests_the_end_only_so_a_post_can_be_cut",
    ),
    Mutant(
        "src/dualwm/envs/tworoom_core.py",
        "left = old[:, 0] < WALL_X",
        "left = new[:, 0] < WALL_X",
        "tests/unit/envs/test_tworoom_motion.py"
        "::test_snap_throws_the_agent_back_to_its_own_side_when_it_leaves_the_band_sideways",
    ),
    Mutant(
        "src/dualwm/envs/tworoom_core.py",
        "stops_x = outside & ~in_band(y + (new[:, 1] - y) * share)",
        "stops_x = outside & ~in_band(new[:, 1])",
        "tests/property/test_tworoom_laws.py::test_swept_motion_never_passes_through_the_wall",
    ),
    Mutant(
        "src/dualwm/envs/tworoom_core.py",
        "self._states = on_float32_grid(self._collide(self._states, new))",
        "self._states = self._collide(self._states, new)",
        "tests/unit/envs/test_tworoom_behaviour.py"
        "::test_replaying_recorded_actions_reproduces_the_positions_exactly_from_any_row",
    ),
    Mutant(
        "src/dualwm/envs/tworoom_core.py",
        "SPEED * np.clip(actions.astype(np.float64), -1.0, 1.0)",
        "SPEED * actions.astype(np.float64)",
        "tests/unit/envs/test_tworoom_motion.py::test_positions_are_clamped_to_21_and_203_and_actions_to_one",
    ),
    Mutant(
        "src/dualwm/envs/tworoom.py",
        "return gap < REACH, gap",
        "return gap <= REACH, gap",
        "tests/unit/envs/test_tworoom_motion.py::test_success_is_a_distance_below_16_px",
    ),
    Mutant(
        "src/dualwm/envs/tworoom_draw.py",
        "alpha = profile[:, 1, :, None] * profile[:, 0, None, :]",
        "alpha = profile[:, 0, :, None] * profile[:, 1, None, :]",
        "tests/unit/envs/test_tworoom_draw.py::test_the_dots_centroid_is_the_position_at_every_size",
    ),
    Mutant(
        "src/dualwm/envs/tworoom_path.py",
        "*product(_RIGHT, _LEFT)]",
        "*product(_RIGHT, _RIGHT)]",
        "tests/property/test_tworoom_laws.py::test_shortest_paths_are_a_metric_no_shorter_than_the_straight_line",
    ),
    Mutant(
        "src/dualwm/envs/tworoom_behaviour.py",
        "positions[alive, t + 1] = states = rooms.step(previous)",
        "positions[alive, t] = states = rooms.step(previous)",
        "tests/unit/envs/test_tworoom_behaviour.py"
        "::test_replaying_recorded_actions_reproduces_the_positions_exactly_from_any_row",
    ),
    Mutant(
        "src/dualwm/envs/tworoom_behaviour.py",
        "_START, _NOISE, _REPEATS = (0x7440_7200 + purpose for",
        "_START, _NOISE, _REPEATS = (0x7440_7200 + purpose // 2 for",
        "tests/unit/envs/test_tworoom_behaviour.py::test_start_noise_and_repeats_have_streams_of_their_own",
    ),
    # Tasks and the closed loop
    Mutant(
        "src/dualwm/evaluate/sampling.py",
        "valid = np.maximum(lengths - offset, 0)\n    total",
        "valid = np.maximum(lengths - offset - 1, 0)\n    total",
        "tests/unit/evaluate/test_sampling.py::test_paper_rows_are_drawn_from_all_rows_that_leave_room",
    ),
    Mutant(
        "src/dualwm/evaluate/pool.py",
        "_states(source, rows + offset)",
        "_states(source, rows + offset - 1)",
        "tests/unit/evaluate/test_pool.py::test_a_pair_is_two_rows_of_one_episode_an_offset_apart",
    ),
    Mutant(
        "src/dualwm/evaluate/tasks.py",
        'return "dev" if seed >= FIRST_DEV_SEED else "test"',
        'return "dev" if seed > FIRST_DEV_SEED else "test"',
        "tests/unit/evaluate/test_tasks.py::test_small_seeds_are_for_test_and_seeds_from_1000_on_for_dev",
    ),
    Mutant(
        "src/dualwm/evaluate/tasks.py",
        "order = order[~pairs.solved[rule][order]]",
        "order = order[~pairs.solved[rule]]",
        "tests/unit/evaluate/test_tasks.py::test_no_solved_pair_is_drawn_however_many_there_are",
    ),
    Mutant(
        "src/dualwm/evaluate/tasks.py",
        "return order[np.sort(first)[:num_tasks]]",
        "return order[:num_tasks]",
        "tests/unit/evaluate/test_tasks.py::test_heldout_uses_an_episode_once_and_nothing_that_is_solved_at_the_start",
    ),
    Mutant(
        "src/dualwm/evaluate/tasks.py",
        "return order[np.sort(first)[:num_tasks]]",
        "return order[first[:num_tasks]]",
        "tests/unit/evaluate/test_tasks.py::test_heldout_tasks_come_in_random_order_of_episodes",
    ),
    Mutant(
        "src/dualwm/evaluate/closed_loop.py",
        "over = success | (batch.env_step >= self.taskset.budget_env_steps)",
        "over = success | (batch.env_step > self.taskset.budget_env_steps)",
        "tests/unit/evaluate/test_closed_loop.py"
        "::test_the_budget_is_counted_in_environment_steps_and_cuts_the_last_chunk",
    ),
    Mutant(
        "src/dualwm/evaluate/closed_loop.py",
        "self.executed = None if self.executed is None else self.executed[rows]",
        "self.executed = None if self.executed is None else self.executed[: len(rows)]",
        "tests/unit/evaluate/test_closed_loop.py"
        "::test_an_outcome_does_not_depend_on_batch_mates_or_on_who_finishes_early",
    ),
    Mutant(
        "src/dualwm/evaluate/closed_loop.py",
        "batch.distance = np.minimum(batch.distance, distance)",
        "batch.distance = distance",
        "tests/unit/evaluate/test_closed_loop.py::test_the_smallest_distance_is_remembered",
    ),
)
