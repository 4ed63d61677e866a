"""Pictures of Sokoban equal a plain painting at 960 pixels, averaged over areas."""

import numpy as np
import pytest

from dualwm.envs.pixels import area_weights, whole_levels
from dualwm.envs.sokoban import Sokoban
from dualwm.envs.sokoban_core import FLOOR, WALLS, states_of_cells
from dualwm.envs.sokoban_draw import _CELL, _agent, _box, _ground

WORLD = Sokoban()


def boards(count: int) -> np.ndarray:
    generator = np.random.default_rng(0)
    return states_of_cells(np.stack([generator.choice(FLOOR, 3, replace=False) for _ in range(count)]))


def painted(state: np.ndarray, size: int) -> np.ndarray:
    """The definition: everything painted at full size, then averaged."""
    canvas = np.kron(_ground(), np.ones((_CELL, _CELL, 1)))
    for (row, column), (colour, cover) in zip(state.reshape(3, 2).astype(int), (_agent(), _box(), _box()), strict=True):
        cell = canvas[row * _CELL : (row + 1) * _CELL, column * _CELL : (column + 1) * _CELL]
        cell[:] = cover * colour + (1 - cover) * cell
    weights = area_weights(10 * _CELL, size)
    return whole_levels(np.einsum("yi,ijc,xj->yxc", weights, canvas, weights, optimize=True))


@pytest.mark.parametrize("size", [60, 64, 96])
def test_a_picture_is_the_area_average_of_the_painting(size):
    states = boards(4)
    for state, picture in zip(states, WORLD.draw(states, size), strict=True):
        assert np.abs(picture.astype(int) - painted(state, size)).max() <= 1


def test_pieces_side_by_side_do_not_disturb_each_other():
    states = np.array([[4.0, 4, 4, 5, 5, 4]])
    assert np.abs(WORLD.draw(states, 64)[0].astype(int) - painted(states[0], 64)).max() <= 1


def test_every_cell_shows_the_agent_a_box_a_wall_or_floor():
    picture = WORLD.draw(np.array([[1.0, 2, 7, 8, 5, 0]]), 100)[0]
    middle = {(row, column): tuple(picture[10 * row + 5, 10 * column + 2]) for row, column in np.ndindex(10, 10)}
    kinds = {cell: sum(middle[cell] == middle[other] for other in middle) for cell in middle}
    assert {middle[wall] for wall in WALLS} == {middle[3, 3]}
    assert middle[7, 8] == middle[5, 0]
    assert (kinds[1, 2], kinds[7, 8], kinds[3, 3]) == (1, 2, len(WALLS))


def test_which_box_is_first_cannot_be_seen():
    a, b = np.array([[1.0, 2, 7, 8, 5, 0]]), np.array([[1.0, 2, 5, 0, 7, 8]])
    assert np.array_equal(WORLD.draw(a, 64), WORLD.draw(b, 64))


def test_planar_is_where_the_agent_is_on_the_picture():
    (x, y) = WORLD.planar(np.array([[1.0, 7, 9, 9, 9, 8]]))[0]
    with_agent, without = (
        WORLD.draw(np.array([[*cell, 9, 9, 9, 8]], float), 100)[0].astype(int) for cell in ((1, 7), (5, 1))
    )
    changed = np.abs(with_agent - without).sum(axis=2)[:30]
    rows, columns = np.nonzero(changed)
    assert (columns.mean() + 0.5) / 100 == pytest.approx(x, abs=0.01)
    assert (rows.mean() + 0.5) / 100 == pytest.approx(y, abs=0.01)
