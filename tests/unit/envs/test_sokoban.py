"""Sokoban-Long: the board and its law of motion, success, behaviour, and shortest ways."""

import numpy as np
import pytest

from dualwm.envs import episodes, get_world, replay
from dualwm.envs.sokoban import Sokoban
from dualwm.envs.sokoban_behaviour import Behaviour
from dualwm.envs.sokoban_core import ACTIONS, DOWN, FLOOR, LEFT, MOVES, RIGHT, SIDE, STAY, UP, WALLS, states_of_cells
from dualwm.errors import WorldError

WORLD = Sokoban()
FAR = (9, 9)


def board(agent, first=FAR, second=(9, 8)) -> np.ndarray:
    return np.array([[*agent, *first, *second]], float)


def one_hot(*actions: int) -> np.ndarray:
    return np.eye(ACTIONS)[list(actions)]


def after(start: np.ndarray, *actions: int) -> tuple:
    """(agent, first box, second box) as cells."""
    return tuple(map(tuple, replay(WORLD, start, one_hot(*actions)[None])[0, -1].reshape(3, 2).astype(int).tolist()))


def random_boards(count: int, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return states_of_cells(np.stack([generator.choice(FLOOR, 3, replace=False) for _ in range(count)]))


# Motion


def test_the_board_has_94_floor_cells_and_two_staggered_bars():
    assert len(FLOOR) == 94
    assert WALLS == ((3, 3), (3, 4), (3, 5), (6, 4), (6, 5), (6, 6))


@pytest.mark.parametrize(
    ("action", "cell"), [(STAY, (5, 5)), (UP, (4, 5)), (DOWN, (6, 5)), (LEFT, (5, 4)), (RIGHT, (5, 6))]
)
def test_an_action_moves_by_one_cell_unless_a_wall_is_there(action, cell):
    assert after(board((5, 5)), action)[0] == ((5, 5) if cell in WALLS else cell)


def test_the_edge_of_the_board_is_a_wall():
    assert after(board((0, 0)), UP, LEFT)[0] == (0, 0)
    assert after(board((8, 9), (7, 7), (7, 6)), RIGHT, DOWN, DOWN)[0] == (9, 9)


def test_a_box_is_pushed_and_the_other_stays():
    assert after(board((1, 1), (1, 2), (5, 5)), RIGHT) == ((1, 2), (1, 3), (5, 5))
    assert after(board((1, 1), (5, 5), (1, 2)), RIGHT) == ((1, 2), (5, 5), (1, 3))


def test_no_box_is_ever_pulled():
    assert after(board((1, 3), (1, 2), (5, 5)), RIGHT) == ((1, 4), (1, 2), (5, 5))


@pytest.mark.parametrize(
    "blocked",
    [
        (board((1, 1), (1, 2), (1, 3)), RIGHT),
        (board((1, 8), (1, 9), (5, 5)), RIGHT),
        (board((1, 4), (2, 4), (5, 5)), DOWN),
    ],
    ids=["by the other box", "by the edge", "by a bar"],
)
def test_a_push_that_is_blocked_changes_nothing(blocked):
    start, action = blocked
    assert after(start, action) == after(start, STAY)


def test_boxes_are_kept_and_no_two_pieces_share_a_cell():
    actions = one_hot(*np.random.default_rng(1).integers(ACTIONS, size=60))
    path = replay(WORLD, random_boards(200), np.repeat(actions[None], 200, axis=0)).reshape(200 * 61, 3, 2)
    cells = path[:, :, 0] * SIDE + path[:, :, 1]
    assert np.isin(cells, FLOOR).all()
    assert (np.diff(np.sort(cells, axis=1), axis=1) > 0).all()
    assert np.abs(np.diff(path.reshape(200, 61, 6), axis=1)).sum(axis=2).max() == 2, "the agent and at most one box"


def test_the_largest_number_of_an_action_is_the_choice():
    simulation = WORLD.simulate(board((5, 5)), [0])
    assert simulation.step(np.array([[0.1, 0.2, 0.0, 0.9, 0.3]]))[0, :2].tolist() == [5, 4]


# Success


def test_the_two_boxes_are_interchangeable():
    states, goals = board((1, 1), (2, 2), (7, 7)), board((1, 1), (7, 7), (2, 2))
    for rule in WORLD.rules:
        reached, gap = WORLD.success(states, goals, rule)
        assert (reached.tolist(), gap.tolist()) == ([True], [0.0])


def test_gap4_counts_agent_and_boxes_together_and_four_is_still_a_success():
    goals = board((1, 1), (2, 2), (7, 7))
    near, far = board((1, 3), (2, 3), (7, 8)), board((1, 4), (2, 3), (7, 8))
    reached, gap = WORLD.success(np.concatenate([near, far]), np.repeat(goals, 2, axis=0))
    assert (reached.tolist(), gap.tolist()) == ([True, False], [4.0, 5.0])


def test_exact_wants_the_boxes_and_leaves_the_agent_alone():
    goals = np.repeat(board((1, 1), (2, 2), (7, 7)), 2, axis=0)
    states = np.concatenate([board((9, 9), (7, 7), (2, 2)), board((1, 1), (2, 2), (7, 6))])
    reached, gap = WORLD.success(states, goals, "exact")
    assert (reached.tolist(), gap.tolist()) == ([True, False], [0.0, 1.0])


def test_boards_that_cannot_be_are_refused_by_row():
    with pytest.raises(WorldError, match=r"Row 1 is \(3\.0, 3\.0,"):
        WORLD.simulate(np.concatenate([board((1, 1)), board((3, 3))]), [0, 0])
    with pytest.raises(WorldError, match="three different cells"):
        WORLD.simulate(board((1, 1), (1, 1)), [0])
    with pytest.raises(WorldError, match="side of at least 10 pixels"):
        WORLD.draw(board((1, 1)), 9)
    with pytest.raises(WorldError, match="5 values that are not finite"):
        WORLD.simulate(board((1, 1)), [0]).step(np.full((1, 5), np.nan))


# Behaviour


def test_recorded_lengths_are_those_of_the_papers_family():
    rows = np.array([len(episode["cells"]) for episode in episodes(WORLD, range(600), 200)])
    assert rows.max() == 201
    assert 150 < rows.mean() < 171, "about 160"
    assert 0.14 < (rows <= 101).mean() < 0.26, "about one in five is too short for offset 100"


def test_an_episode_ends_early_only_where_no_push_is_left():
    ends = [episode["cells"][-1] for episode in episodes(WORLD, range(30), 200) if len(episode["cells"]) < 201]
    assert len(ends) > 5
    for *agent, a, b, c, d in np.array(ends, float).tolist():
        free = [
            cell for cell in map(tuple, np.stack(np.divmod(FLOOR, SIDE), 1).tolist()) if cell not in ((a, b), (c, d))
        ]
        starts = np.repeat([[*cell, a, b, c, d] for cell in free], len(MOVES), axis=0)
        led = replay(WORLD, starts, np.tile(one_hot(*MOVES), (len(free), 1))[:, None])[:, 1]
        reached, seen = [tuple(agent)], {tuple(agent)}
        while reached:
            rows = len(MOVES) * free.index(reached.pop()) + np.arange(len(MOVES))
            assert (led[rows, 2:] == (a, b, c, d)).all(), "a push was left"
            new = set(map(tuple, led[rows, :2].tolist())) - seen
            reached, seen = [*reached, *new], seen | new


def test_about_a_tenth_of_the_actions_are_random():
    """Standing still is never planned, so a fifth of the random actions is seen as such."""
    actions = np.concatenate([episode["action"][:-1] for episode in episodes(WORLD, range(60), 200)])
    assert actions[:, STAY].mean() == pytest.approx(1 / 50, abs=0.005)


def test_boxes_are_pushed_far_and_seldom_into_corners():
    recorded = episodes(Sokoban(behaviour=Behaviour(random_share=0.0)), range(60), 200)
    boxes = [episode["cells"][:, 2:].astype(int) for episode in recorded]
    pushes = [(path[1:] != path[:-1]).any(axis=1) for path in boxes]
    runs = [len(run) for path in pushes for run in "".join("x" if p else " " for p in path).split()]
    assert np.mean(runs) > 2, "pushed on and on"
    rows, columns = np.concatenate(boxes).reshape(-1, 2, 2).transpose(2, 0, 1)
    in_corner = np.isin(rows, (0, SIDE - 1)) & np.isin(columns, (0, SIDE - 1))
    uniform = Behaviour(random_share=0.0, corner_weight=1.0, border_weight=1.0)
    careless = [len(episode["cells"]) for episode in episodes(Sokoban(behaviour=uniform), range(60), 200)]
    assert in_corner.mean() < 0.25
    assert np.mean(careless) < np.mean([len(path) for path in boxes]), "boxes in corners end episodes early"


# Shortest ways


def test_one_step_changes_the_distance_to_a_goal_by_one_at_most_and_the_expert_arrives():
    starts = random_boards(12, seed=2)
    goals = replay(
        WORLD, starts, one_hot(*np.random.default_rng(3).integers(ACTIONS, size=20))[None].repeat(12, axis=0)
    )[:, -1]
    simulation, left = WORLD.simulate(starts, [0] * 12), WORLD.path_env_steps(starts, goals)
    assert (left <= 20).all(), "it was reached in twenty steps"
    for _ in range(20):
        states = simulation.step(WORLD.expert_action(simulation.states, goals))
        now = WORLD.path_env_steps(states, goals)
        assert (now == np.maximum(left - 1, 0)).all()
        left = now
    gaps = WORLD.success(simulation.states, goals, "gap4")[1]
    assert (gaps == 0).all()


def test_a_box_in_a_corner_stays_there_for_ever():
    assert WORLD.path_env_steps(board((5, 5), (0, 0), (7, 7)), board((5, 5), (0, 1), (7, 7))).tolist() == [np.inf]
    assert WORLD.path_env_steps(board((5, 2), (5, 3), (7, 7)), board((5, 3), (5, 4), (7, 7))).tolist() == [1]


def test_it_is_found_by_name():
    assert get_world("sokoban") == WORLD
