"""Distance maps, rank correlation, and the nearest real frame."""

import base64

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import spearmanr

from dualwm.report.heat import EMPTY, Grid, goal_maps, latent_distance, rank_correlation
from dualwm.report.nearest import nearest


def test_cells_run_row_by_row_from_the_top_left_corner():
    centres = Grid(left=10.0, top=20.0, step=4.0, columns=3, rows=2).centres()
    assert centres.tolist() == [[12, 22], [16, 22], [20, 22], [12, 26], [16, 26], [20, 26]]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=40))
def test_rank_correlation_is_spearmans_with_ties(pairs: list[tuple[int, int]]):
    a, b = (np.array(side, dtype=np.float64) for side in zip(*pairs, strict=True))
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert rank_correlation(a, b) is None
    else:
        assert rank_correlation(a, b) == pytest.approx(spearmanr(a, b).statistic, abs=1e-12)


def test_unrelated_latents_are_about_one_apart_whatever_their_width():
    generator = np.random.default_rng(0)
    for width in (64, 4096):
        latents = generator.normal(size=(500, width)).astype(np.float32)
        apart = latent_distance(latents, generator.normal(size=width).astype(np.float32))
        assert np.sqrt((apart**2).mean()) == pytest.approx(1.0, abs=0.08)
        assert latent_distance(latents[:1], latents[0]).tolist() == [0.0]


def test_maps_leave_out_what_has_no_path_and_latent_maps_share_one_scale():
    path = np.array([0.0, 10.0, np.nan, 20.0])
    truth, low, high = goal_maps(path, np.array([0.0, 1.0, 99.0, 0.5]), np.array([0.0, 1.0, 99.0, 2.0]))
    assert (truth.high, low.high, high.high) == (20.0, 2.0, 2.0)
    assert truth.rank_correlation is None
    assert low.rank_correlation == pytest.approx(0.5)
    assert high.rank_correlation == pytest.approx(1.0)
    codes = [list(base64.b64decode(heat.to_plain()["cells"])) for heat in (truth, low, high)]
    assert codes == [[0, 127, EMPTY, 254], [0, 127, EMPTY, 64], [0, 127, EMPTY, 254]]


def test_the_nearest_frame_of_a_banks_own_latent_is_itself():
    bank = np.random.default_rng(1).normal(size=(700, 12)).astype(np.float32)
    assert (nearest(bank, bank) == np.arange(700)).all()


def test_the_nearest_frame_is_the_one_at_the_smallest_distance_and_the_first_of_equals():
    generator = np.random.default_rng(2)
    bank, queries = (generator.normal(size=(n, 5)).astype(np.float32) for n in (40, 300))
    slowly = np.linalg.norm(queries[:, None].astype(float) - bank[None].astype(float), axis=2).argmin(1)
    assert (nearest(queries, bank) == slowly).all()
    assert nearest(bank[:1], np.repeat(bank[:1], 3, axis=0)).tolist() == [0]


def test_what_was_not_predicted_has_no_nearest_frame():
    bank = np.eye(3, dtype=np.float32)
    queries = np.array([[0, 1, 0], [np.nan, 0, 0], [0, 0, np.inf]], dtype=np.float32)
    assert nearest(queries, bank).tolist() == [1, -1, -1]
