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
        "SPEED * np.clip(rows, -1.0, 1.0)",
        "SPEED * rows",
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
    # PushT and Cube: motion, success, pushes, pictures
    Mutant(
        "src/dualwm/envs/pusht_core.py",
        "return [*seen, (on_x - x) / _SECONDS, (on_y - y) / _SECONDS, (block.angle - angle) / _SECONDS]",
        "return [*seen, *block.velocity, block.angular_velocity]",
        "tests/unit/envs/test_pusht.py::test_it_moves_as_the_published_environment_moves",
    ),
    Mutant(
        "src/dualwm/envs/pusht_core.py",
        "self.block.center_of_gravity = CENTRE",
        "self.block.center_of_gravity = (0.0, 41.0)",
        "tests/unit/envs/test_pusht.py::test_it_moves_as_the_published_environment_moves",
    ),
    Mutant(
        "src/dualwm/envs/pusht_push.py",
        "turned = np.abs(a - b) % (2 * np.pi)",
        "turned = np.abs(a - b)",
        "tests/unit/envs/test_pusht.py::test_twenty_degrees_count_as_twenty_units_and_whole_turns_not_at_all",
    ),
    Mutant(
        "src/dualwm/envs/pusht_push.py",
        "_TURN = _GIVE * _TORQUE / INERTIA",
        "_TURN = -_GIVE * _TORQUE / INERTIA",
        "tests/unit/envs/test_pusht.py::test_what_a_push_is_said_to_do_is_what_it_does",
    ),
    Mutant(
        "src/dualwm/envs/pusht.py",
        '(here - there)[:, BLOCK if rule == "block" else slice(0, 4)]',
        "(here - there)[:, BLOCK]",
        "tests/unit/envs/test_pusht.py::test_agent_and_block_count_as_one_point_of_four_coordinates",
    ),
    Mutant(
        "src/dualwm/envs/pusht_draw.py",
        "x: Shares = np.add((c32 * dx)[:, None, :], (s32 * dy)[:, :, None])",
        "x: Shares = np.subtract((c32 * dx)[:, None, :], (s32 * dy)[:, :, None])",
        "tests/unit/envs/test_pusht_draw.py::test_a_picture_is_nearly_its_area_average",
    ),
    Mutant(
        "src/dualwm/envs/cube_core.py",
        "        self._mujoco.mj_resetData(self.model, data)\n",
        "",
        "tests/unit/envs/test_cube.py::test_a_recorded_episode_replays_to_the_last_bit_from_any_row",
    ),
    Mutant(
        "src/dualwm/envs/cube.py",
        "away[held] = 2 * REACH",
        "away[held] = REACH",
        "tests/unit/envs/test_cube.py::test_placed_also_wants_the_block_released_and_at_rest",
    ),
    Mutant(
        "src/dualwm/envs/cube_draw.py",
        "kept = kept[(a != b) & (b != c) & (a != c)]",
        "kept = kept[(a != b) & (b != c)]",
        "tests/unit/envs/test_cube_draw.py::test_corners_in_one_cell_become_one_and_flat_facets_go",
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
    # Outcomes and intervals
    Mutant(
        "src/dualwm/evaluate/outcomes.py",
        "return sorted(self._known.values(), key=_place)",
        "return list(self._known.values())",
        "tests/unit/evaluate/test_outcomes.py::test_several_writers_share_the_tasks_to_the_same_bytes",
    ),
    Mutant(
        "src/dualwm/evaluate/outcomes.py",
        "if whole < len(data):",
        "if whole > len(data):",
        "tests/unit/evaluate/test_outcomes.py::test_a_torn_last_line_is_run_again",
    ),
    Mutant(
        "src/dualwm/stats.py",
        "centre = (p + z * z / (2 * n))",
        "centre = (p + z * z / n)",
        "tests/unit/test_stats.py::test_wilson_is_scipys",
    ),
    Mutant(
        "src/dualwm/stats.py",
        "return min(1.0, 2 * tail / 2**n)",
        "return min(1.0, tail / 2**n)",
        "tests/unit/test_stats.py::test_mcnemar_is_scipys_binomial_test_on_the_tasks_that_differ",
    ),
    # Comparisons, reports, labels
    Mutant(
        "src/dualwm/evaluate/compare.py",
        "Share(index=self.index + self.of * i, of=self.of * workers)",
        "Share(index=self.index + i, of=self.of * workers)",
        "tests/unit/evaluate/test_compare.py::test_shares_are_parts_of_the_whole",
    ),
    Mutant(
        "src/dualwm/evaluate/outcomes.py",
        "            if all(known.read_bytes() != data for known in here):",
        "            if not (self.path / file.name).exists():",
        "tests/unit/evaluate/test_compare.py::test_folders_of_several_machines_are_merged_with_their_timings",
    ),
    Mutant(
        "src/dualwm/report/comparison.py",
        "float(one[task].success) - float(two[task].success)",
        "float(one[task].success) - float(two[task].initially_solved)",
        "tests/unit/report/test_comparison.py::test_the_best_other_is_chosen_in_every_world_by_itself",
    ),
    Mutant(
        "src/dualwm/report/comparison.py",
        "key=lambda name: (-rates[name], name)",
        "key=lambda name: (rates[name], name)",
        "tests/unit/report/test_comparison.py::test_the_aggregate_is_the_papers",
    ),
    Mutant(
        "src/dualwm/report/charts.py",
        "shares = 100 * np.cumsum(counts) / len(outcomes)",
        "shares = 100 * np.cumsum(counts) / sum(counts)",
        "tests/unit/report/test_written_report.py::test_charts_hold_the_rates_their_intervals_and_the_steps",
    ),
    Mutant(
        "src/dualwm/evaluate/failures.py",
        "elif possible > 0 and brought < HALF * possible:",
        "elif possible > 0 and brought <= possible:",
        "tests/unit/evaluate/test_failures.py::test_every_cause_gets_its_own_label",
    ),
    Mutant(
        "src/dualwm/evaluate/failures.py",
        "if look.imagined_success and not look.real_success",
        "if look.imagined_success",
        "tests/unit/evaluate/test_failures.py::test_every_cause_gets_its_own_label",
    ),
    Mutant(
        "src/dualwm/zoo/reproducing.py",
        "now = [outcome for some in by_seed for outcome in _run_again(folder, some[:each], on_progress)]",
        "now = before",
        "tests/integration/test_reproduce.py"
        "::test_what_came_out_otherwise_is_counted_and_only_a_separated_difference_fails",
    ),
    # The store
    Mutant(
        "src/dualwm/data/writer.py",
        "        self._files.sync()\n",
        "        pass\n",
        "tests/unit/data/test_store_crash.py::test_a_power_cut_at_any_step_loses_no_episode_whose_append_returned",
    ),
    Mutant(
        "src/dualwm/data/writer.py",
        "last.first_row + last.rows, dict(last.ends)",
        "last.first_row + last.rows, last.ends",
        "tests/unit/data/test_store.py::test_episodes_written_together_or_one_by_one_give_the_same_bytes",
    ),
    Mutant(
        "src/dualwm/data/writer.py",
        "disk.truncate(self._index, self._index_size)",
        "pass",
        "tests/unit/data/test_store.py::test_a_torn_end_of_the_index_is_ignored_and_repaired_by_the_next_append",
    ),
    Mutant(
        "src/dualwm/data/store.py",
        'np.searchsorted(self._shard_first, rows, side="right") - 1',
        'np.searchsorted(self._shard_first, rows, side="left") - 1',
        "tests/unit/data/test_store.py::test_rows_are_read_in_any_order_across_shards",
    ),
    Mutant(
        "src/dualwm/data/schema.py",
        'if key != "created"}',
        'if key != "law"}',
        "tests/unit/data/test_store.py::test_digest_tells_contents_and_not_places_or_commands",
    ),
    # Windows and the normaliser
    Mutant(
        "src/dualwm/data/windows.py",
        "return first[:, None] + self.frame_skip * np.arange(self.low_steps)",
        "return first[:, None] + self.frame_skip * np.arange(self.low_steps) + self.frame_skip - 1",
        "tests/unit/data/test_windows.py::test_block_i_leads_from_frame_i_to_frame_i_plus_1",
    ),
    Mutant(
        "src/dualwm/data/windows.py",
        "rows = (first + row)[:, None] + np.arange(self.low_steps * self.frame_skip)",
        "rows = (first + row)[:, None] + np.arange(self.low_steps * self.frame_skip) + 1",
        "tests/unit/data/test_windows.py::test_block_i_leads_from_frame_i_to_frame_i_plus_1",
    ),
    Mutant(
        "src/dualwm/data/windows.py",
        "actions[behind] = np.nan",
        "actions[behind] = 0",
        "tests/unit/data/test_windows.py::test_actions_behind_the_end_of_the_episode_are_nan_and_others_are_not",
    ),
    Mutant(
        "src/dualwm/data/windows.py",
        "return (low_steps - 1) * frame_skip + 1 if last_action_unused",
        "return low_steps * frame_skip + 1 if last_action_unused",
        "tests/unit/data/test_windows.py::test_the_longest_published_tworoom_episode_gives_one_high_level_window",
    ),
    Mutant(
        "src/dualwm/data/normalize.py",
        "chosen = np.sort(np.asarray(episodes, np.int64))",
        "chosen = store.ids",
        "tests/unit/data/test_normalizer.py"
        "::test_it_is_fitted_on_the_given_episodes_only_without_the_rows_that_are_nan",
    ),
    Mutant(
        "src/dualwm/data/normalize.py",
        "yield rows[~np.isnan(rows).any(1)]",
        "yield np.nan_to_num(rows)",
        "tests/unit/data/test_normalizer.py"
        "::test_it_is_fitted_on_the_given_episodes_only_without_the_rows_that_are_nan",
    ),
    # Training: order, noise, several processes, what stays frozen, checkpoints
    Mutant(
        "src/dualwm/train/feed.py",
        "permutation(self.samples, *self._words, epoch)",
        "permutation(self.samples, *self._words)",
        "tests/unit/train/test_train_feed.py::test_every_sample_comes_once_per_epoch_and_none_is_dropped",
    ),
    Mutant(
        "src/dualwm/train/noise.py",
        "_mix(_mix(ids.astype(np.uint64) * _GOLDEN",
        "_mix(_mix(np.arange(len(ids)).astype(np.uint64) * _GOLDEN",
        "tests/unit/train/test_train_noise.py::test_a_samples_noise_does_not_depend_on_its_batch_mates",
    ),
    Mutant(
        "src/dualwm/train/distributed.py",
        "flat /= self.world",
        "flat /= 1",
        "tests/integration/test_two_processes.py::test_two_processes_give_the_loss_gradients_and_statistics_of_one",
    ),
    Mutant(
        "src/dualwm/train/distributed.py",
        "        return _all_reduced(gradients[0])\n",
        "        return gradients[0]\n",
        "tests/integration/test_two_processes.py::test_two_processes_give_the_loss_gradients_and_statistics_of_one",
    ),
    Mutant(
        "src/dualwm/train/optimise.py",
        "(*model.named_parameters(), *model.named_buffers())",
        "(*model.named_parameters(),)",
        "tests/unit/train/test_train_optimise.py::test_frozen_digests_see_a_buffer_move_and_ignore_what_is_trained",
    ),
    Mutant(
        "src/dualwm/train/optimise.py",
        "            p.requires_grad_(id(p) in inside)",
        "            p.requires_grad_(True)",
        "tests/unit/train/test_train_optimise.py::test_only_trained_modules_receive_gradients_and_training_mode",
    ),
    Mutant(
        "src/dualwm/train/checkpoint.py",
        'if not heavy.exists() or _file_digest(heavy) != body["tensors_sha256"]:',
        "if not heavy.exists():",
        "tests/unit/train/test_train_checkpoint.py"
        "::test_a_damaged_newest_checkpoint_gives_way_to_the_one_before_with_a_warning",
    ),
    Mutant(
        "src/dualwm/train/loop.py",
        "range(self._done, settings.steps)",
        "range(settings.steps - self._done)",
        "tests/integration/test_kill_and_resume.py"
        "::test_a_polite_stop_loses_no_step_and_the_run_ends_with_the_same_bits",
    ),
    Mutant(
        "src/dualwm/train/loop.py",
        "                        set_modes(run.model, trained)\n",
        "                        pass\n",
        "tests/integration/test_kill_and_resume.py"
        "::test_a_polite_stop_loses_no_step_and_the_run_ends_with_the_same_bits",
    ),
    # The demo: which tasks, what stands for imagined latents, what a page may hold
    Mutant(
        "src/dualwm/cli/demo.py",
        "return taskset, crossing[: args.tasks]",
        "return taskset, crossing[-args.tasks :]",
        "tests/integration/test_demo.py::test_the_tasks_are_the_first_into_the_other_room_whatever_becomes_of_them",
    ),
    Mutant(
        "src/dualwm/cli/demo_story.py",
        "steps = [env_step + self.ahead * (i + 1) for i in range(len(imagined))]",
        "steps = [env_step + self.ahead * i for i in range(len(imagined))]",
        "tests/integration/test_demo.py::test_imagined_places_are_compared_with_where_the_agent_then_was",
    ),
    Mutant(
        "src/dualwm/plan/search.py",
        "score.predicted[rows[:, None], order[:, :fan]]",
        "score.predicted[rows[:, None], order[:, -fan:]]",
        "tests/unit/cli/test_scene.py::test_the_fan_holds_the_elites_best_first_and_changes_no_plan",
    ),
    # Difficulty, and what others published
    Mutant(
        "src/dualwm/evaluate/profile.py",
        "already_solved=float(np.mean(pairs.solved[first.rule])),",
        "already_solved=difficulty(tasks).initially_solved,",
        "tests/unit/evaluate/test_profile.py"
        "::test_the_share_already_solved_counts_the_pairs_and_not_the_tasks_drawn_from_them",
    ),
    Mutant(
        "src/dualwm/evaluate/manifests.py",
        "start + manifest.goal_offset_env_steps >= source.rows[episode]",
        "start + manifest.goal_offset_env_steps > source.rows[episode]",
        "tests/unit/evaluate/test_manifests.py::test_other_data_and_other_files_are_refused",
    ),
    Mutant(
        "src/dualwm/report/nearest.py",
        "squares - 2 * queries",
        "squares - queries",
        "tests/unit/report/test_heat.py::test_the_nearest_frame_is_the_one_at_the_smallest_distance_and_the_first_of_equals",
    ),
    Mutant(
        "src/dualwm/report/heat.py",
        "return (last - (counts - 1) / 2)[group]",
        "return last[group]",
        "tests/unit/report/test_heat.py::test_rank_correlation_is_spearmans_with_ties",
    ),
    Mutant(
        "src/dualwm/report/page.py",
        'return text.replace("<", ',
        'return text.replace("<<", ',
        "tests/unit/report/test_page.py::test_no_text_can_end_the_script_element",
    ),
    # Section 3: windows and segments, dynamics, losses, planner
    Mutant(
        "src/dualwm/model/window_encoder.py",
        "return a[:, k - 1 : k - 1 + count * k]",
        "return a[:, k : k + count * k]",
        "tests/unit/model/test_window_encoder.py::test_a_segments_summed_actions_are_the_displacement_between_window_ends",
    ),
    Mutant(
        "src/dualwm/model/window_encoder.py",
        "return torch.cat([z[:, :1].expand(-1, k - z.shape[1], -1), z], 1)",
        "return torch.cat([z, z[:, :1].expand(-1, k - z.shape[1], -1)], 1)",
        "tests/unit/model/test_window_encoder.py::test_short_windows_are_padded_on_the_left_with_the_oldest_frame",
    ),
    Mutant(
        "src/dualwm/model/dynamics.py",
        "newest = out[:, -1] if free else z[:, self.history + step]",
        "newest = z[:, self.history + step]",
        "tests/unit/model/test_dynamics.py::test_an_error_grows_when_predictions_are_fed_back_and_does_not_when_states_are",
    ),
    Mutant(
        "src/dualwm/model/dynamics.py",
        "out = self(context, c[:, step : step + self.history])",
        "out = self(context, c[:, step + 1 : step + 1 + self.history])",
        "tests/unit/model/test_dynamics.py::test_supervised_outputs_of_the_true_model_are_their_targets",
    ),
    Mutant(
        "src/dualwm/model/macro.py",
        "self.mean + (0.5 * self.log_variance).exp() * noise",
        "self.mean + self.log_variance.exp() * noise",
        "tests/unit/model/test_macro.py::test_a_sample_is_mean_plus_sigma_times_noise_and_carries_gradient_to_both",
    ),
    Mutant(
        "src/dualwm/loss/lore.py",
        "return (raw / raw.sum()).float()",
        "return raw.float()",
        "tests/property/test_loss_laws.py::test_weights_sum_to_one_and_never_increase",
    ),
    Mutant(
        "src/dualwm/loss/lore.py",
        "torch.exp(-decay * (h - 1))",
        "torch.exp(-decay * h.square())",
        "tests/unit/loss/test_lore.py::test_the_papers_settings_give_these_weights",
    ),
    Mutant(
        "src/dualwm/loss/maps.py",
        "kl.clamp_min(free_bits).sum()",
        "kl.clamp_max(free_bits).sum()",
        "tests/unit/loss/test_maps.py::test_it_is_nothing_at_the_prior_and_free_bits_raise_the_floor",
    ),
    Mutant(
        "src/dualwm/loss/maps.py",
        "kl = reduce.sum(kl_per_dimension(mean, log_variance)) / reduce.world",
        "kl = kl_per_dimension(mean, log_variance)",
        "tests/unit/zoo/test_objective.py::test_free_bits_clamp_the_mean_over_the_whole_batch",
    ),
    Mutant(
        "src/dualwm/loss/gaussian.py",
        "standard = (z - mean) / deviation.detach()",
        "standard = (z - mean) / deviation",
        "tests/unit/loss/test_gaussian.py::test_the_shape_term_does_not_pull_on_the_scale",
    ),
    Mutant(
        "src/dualwm/zoo/dual_wm.py",
        "z_L = z_L.detach()[:, : k * (1 + steps)]",
        "z_L = z_L[:, : k * (1 + steps)]",
        "tests/unit/zoo/test_objective.py::test_high_terms_leave_the_low_level_without_gradient",
    ),
    Mutant(
        "src/dualwm/zoo/dual_wm.py",
        "target = target if c.rollout.target_gradient else target.detach()",
        "target = target.detach()",
        "tests/unit/zoo/test_objective.py::test_high_targets_receive_gradient_unless_it_is_switched_off",
    ),
    Mutant(
        "src/dualwm/zoo/dual_wm.py",
        "drawn < share / 2, (drawn >= share / 2) & (drawn < share)",
        "drawn < 0, (drawn >= share / 2) & (drawn < share)",
        "tests/unit/zoo/test_objective.py::test_the_shares_of_still_starts_and_still_targets_are_equal",
    ),
    Mutant(
        "src/dualwm/zoo/dual_wm.py",
        "c.maps.warmup(step.progress) * maps(",
        "maps(",
        "tests/unit/zoo/test_objective.py::test_maps_enters_the_objective_with_its_free_bits_and_its_warm_up",
    ),
    Mutant(
        "src/dualwm/model/prepared.py",
        "keep = begin == 0 and end < self._history",
        "keep = True",
        "tests/unit/model/test_prepared.py::test_low_rollouts_are_those_of_the_training_form",
    ),
    Mutant(
        "src/dualwm/nets/batchnorm.py",
        "if not self.training and not self.accumulating:",
        "if False:",
        "tests/unit/nets/test_batchnorm.py::test_evaluation_leaves_the_buffers_untouched",
    ),
    Mutant(
        "src/dualwm/nets/transformer.py",
        "future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)",
        "future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(2)",
        "tests/unit/nets/test_transformer.py::test_a_causal_output_ignores_later_tokens_and_conditions",
    ),
    Mutant(
        "src/dualwm/plan/costs.py",
        "_with_past(past, candidates[:, :, : window - observed])",
        "_with_past(past, candidates[:, :, : window])",
        "tests/unit/plan/test_costs.py::test_the_guided_window_is_the_observed_states_and_then_the_predicted_ones",
    ),
    Mutant(
        "src/dualwm/plan/costs.py",
        "return distances[..., -1]",
        "return distances[..., 0]",
        "tests/unit/plan/test_costs.py::test_the_terminal_cost_looks_at_the_end_only",
    ),
    Mutant(
        "src/dualwm/plan/costs.py",
        "+ self.path_weight * distances.mean(-1)",
        "",
        "tests/unit/plan/test_costs.py::test_equal_distances_cost_one_percent_more_than_one_of_them",
    ),
    Mutant(
        "src/dualwm/plan/controller.py",
        "prefix = memory.history[:, -p:] if p else None",
        "prefix = memory.history[:, -p - 1 : -1] if p else None",
        "tests/unit/plan/test_controller.py::test_refinement_compares_the_states_observed_since_the_subgoal_was_set_and_then_predictions",
    ),
    Mutant(
        "src/dualwm/plan/controller.py",
        "keep = (memory.objective == objective) & settings.warm_start",
        "keep = (memory.objective != -2) & settings.warm_start",
        "tests/unit/plan/test_controller.py::test_another_subgoal_and_the_switch_to_the_goal_discard_the_plan",
    ),
    Mutant(
        "src/dualwm/plan/proposals.py",
        "rows = torch.where((warm >= 0)[..., None], known / known.sum(-1, keepdim=True), uniform)",
        "rows = known / known.sum(-1, keepdim=True)",
        "tests/unit/plan/test_proposals.py::test_missing_rows_stay_uniform_beside_known_ones",
    ),
    Mutant(
        "src/dualwm/plan/search.py",
        "order = costs.argsort(dim=1, stable=True)[:, : budget.elites]",
        "order = costs.argsort(dim=1, stable=True, descending=True)[:, : budget.elites]",
        "tests/unit/plan/test_search.py::test_search_reaches_the_bottom_of_a_bowl_and_settles_there",
    ),
    Mutant(
        "src/dualwm/plan/tiles.py",
        "if alike >= _EVIDENCE:",
        "if alike >= 0:",
        "tests/unit/plan/test_tiles.py::test_calls_that_would_change_bits_are_never_made_for_a_result",
    ),
    Mutant(
        "src/dualwm/train/loop.py",
        "with unchanged(self._run.model):",
        "with torch.no_grad():",
        "tests/unit/train/test_train_fit.py::test_looking_at_held_out_data_changes_nothing",
    ),
)
