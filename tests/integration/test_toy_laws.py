"""What each of the eight toy systems is there to show, on inputs that can be checked by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from toys import BowlCost, IntegratorWorld
from toys_systems import actor, external, macro_bank, prefix_parallel, proprio, shared_latent, token_sequence
from toys_systems.patch_grid import PATCHES, PatchModel
from toys_systems.shared import BLOCK, HEIGHT, WIDTH, TwoCameras

from dualwm.data.normalize import Normalizer, Scale
from dualwm.evaluate.closed_loop import run
from dualwm.plan.noise import Noise
from dualwm.plan.search import Budget, search
from dualwm.records import Goal, Observation, Task, TaskSet
from dualwm.states import State
from dualwm.zoo.method import Acting

NORMALIZER = Normalizer(
    scales={"action": Scale(mean=(0.0, 0.0), std=(1.0, 1.0)), "proprio": Scale(mean=(100.0, 100.0), std=(50.0, 50.0))}
)
ACTING = Acting(action_dim=2, action_low=(-1.0,), action_high=(1.0,), discrete_values=None, normalizer=NORMALIZER)
WORLD = TwoCameras()


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        yield


def changed(first: State, second: State) -> list[bool]:
    """Which of the steps predicted for the first row differ."""
    return (first.body != second.body).flatten(2).any(-1)[0].tolist()


def test_a_patch_grid_is_compared_patch_by_patch_where_a_mean_would_see_no_difference():
    tokens = torch.randn(1, PATCHES, WIDTH)
    swapped = tokens.flip(1)
    here, there = State(tokens.mean(1), tokens=tokens), State(swapped.mean(1), tokens=swapped)
    torch.testing.assert_close(here.latent, there.latent)
    assert float(here.distance(there)) > 1.0


def test_a_patch_grid_hears_which_action_belongs_to_which_frame():
    model = PatchModel().eval()
    frames = torch.from_numpy(WORLD.draw(np.array([[60.0, 60.0], [160.0, 160.0]]), HEIGHT))
    context = model.encode({"front": frames}, {})[None]
    actions = torch.randn(1, 2, BLOCK)
    one, other = model.dynamics.rollout(context, actions), model.dynamics.rollout(context, actions.flip(1))
    assert one.tokens is not None
    assert one.tokens.shape == (1, 1, PATCHES, WIDTH)
    assert changed(one, other) == [True]


def test_a_prefix_decides_its_horizon_alone_whatever_follows():
    dynamics = prefix_parallel.PrefixStar().eval()
    z, a = State(torch.randn(1, 1, WIDTH)), torch.randn(1, 5, BLOCK)
    whole = dynamics.rollout(z, a)
    for at in range(5):
        other = a.clone()
        other[:, at] += 1
        assert changed(whole, dynamics.rollout(z, other)) == [step >= at for step in range(5)]
    # A shorter sequence is another product, which may round its last bit otherwise.
    torch.testing.assert_close(dynamics.rollout(z, a[:, :2]).body, whole[:, :2].body)


def test_an_action_between_two_states_is_heard_and_later_actions_change_no_earlier_state():
    dynamics = token_sequence.TokenSequence().eval()
    z, a = State(torch.randn(1, 2, WIDTH)), torch.randn(1, 4, BLOCK)
    whole = dynamics.rollout(z, a)
    for at in range(4):
        other = a.clone()
        other[:, at] += 1
        assert changed(whole, dynamics.rollout(z, other)) == [step >= at - 1 for step in range(3)]


def test_the_blocks_between_two_waypoints_lead_from_one_to_the_next():
    z, a = IntegratorWorld().episode(6, 9)
    gaps = torch.tensor([[1, 4], [4, 4], [3, 1], [2, 2], [1, 1], [4, 3]])
    waypoints, blocks, there = shared_latent.cut(State(z), a, gaps)
    assert there.sum(-1).tolist() == gaps.tolist()
    walked = (blocks * there[..., None]).sum(2)
    assert torch.equal(waypoints.latent.diff(dim=1), walked)
    assert torch.equal(waypoints.latent[:, 0], z[:, 0])


def test_gaps_are_every_number_from_one_to_the_longest():
    uniform = torch.linspace(0, 1, 101)[:-1]
    gaps = shared_latent.gaps_between(uniform)
    assert gaps.unique().tolist() == list(range(1, shared_latent.LONGEST + 1))


def test_a_macro_action_hears_the_blocks_that_are_there_and_no_others():
    encoder = shared_latent.MacroEncoder()
    blocks, there = torch.randn(1, 4, BLOCK), torch.tensor([[True, True, False, False]])
    u = encoder(blocks, there)
    outside, inside = blocks.clone(), blocks.clone()
    outside[:, 2:] += 1
    inside[:, 1] += 1
    assert torch.equal(encoder(outside, there), u)
    assert not torch.equal(encoder(inside, there), u)
    assert torch.equal(encoder(blocks, there), u)


def test_the_shared_latent_is_compared_in_l1():
    model = shared_latent.TwoScales().eval()
    frames = torch.from_numpy(WORLD.draw(np.array([[60.0, 60.0], [160.0, 160.0]]), HEIGHT))
    z = model.encode({"front": frames}, {})
    torch.testing.assert_close(z[0].distance(z[1]), (z.latent[0] - z.latent[1]).abs().sum())
    assert model.dynamics.rollout(z[None], torch.randn(1, 2, BLOCK)).norm == 1


def test_coordinates_are_seen_predicted_and_part_of_the_cost():
    model = proprio.BodyModel().eval()
    cameras = {"front": torch.zeros(1, HEIGHT, HEIGHT, 3, dtype=torch.uint8)}
    cameras["side"] = torch.zeros(1, HEIGHT, HEIGHT // 2, 3, dtype=torch.uint8)
    here, there = (model.encode(cameras, {"proprio": torch.tensor([[x, 0.0]])}) for x in (0.0, 3.0))
    torch.testing.assert_close(here.distance(there), torch.tensor([proprio.SHARE * 9.0]))
    moved = model.dynamics.rollout(here[:, None], torch.randn(1, 2, BLOCK))
    assert moved.proprio is not None
    assert (moved.proprio != 0).all()


def test_both_cameras_and_the_body_enter_every_cost():
    controller = proprio.METHOD.controller(
        proprio.BodyModel().eval(), proprio.METHOD.settings(proprio.PLANNER, ""), ACTING
    )

    def costs(seen: np.ndarray, body: np.ndarray, side: np.ndarray) -> np.ndarray:
        goals = np.array([[160.0, 160.0]])
        goal = Goal(frames={c: WORLD.draw(goals, HEIGHT, c) for c in WORLD.cameras}, proprio=WORLD.proprio(goals))
        frames = {"front": WORLD.draw(seen, HEIGHT, "front"), "side": WORLD.draw(side, HEIGHT, "side")}
        observation = Observation(frames=frames, proprio=WORLD.proprio(body))
        return controller.act(controller.start(goal, [0], 0), observation)[2].mean_cost

    a, b = np.array([[60.0, 60.0]]), np.array([[70.0, 190.0]])
    found = costs(a, a, a)
    assert np.isfinite(found).all()
    assert (costs(b, a, a) != found).all()
    assert (costs(a, b, a) != found).all()
    assert (costs(a, a, b) != found).all()


def test_the_actor_names_the_middle_of_every_search():
    model = actor.ActorModel().eval()
    settings = actor.METHOD.settings({**actor.PLANNER, "low_std": 1e-9}, "")
    controller = actor.METHOD.controller(model, settings, ACTING)
    goals, here = np.array([[160.0, 160.0]]), np.array([[60.0, 60.0]])
    goal = Goal(frames={"front": WORLD.draw(goals, HEIGHT)})
    chunk, _, _ = controller.act(
        controller.start(goal, [0], 0), Observation(frames={"front": WORLD.draw(here, HEIGHT)})
    )
    frames = torch.from_numpy(WORLD.draw(np.concatenate([here, goals]), HEIGHT))
    with torch.no_grad():
        z = model.encode({"front": frames}, {})
        block = model.plan(z[:1], z[1:], settings.low_plan_steps)[:, 0]
    # A search of no width can only answer with the middle it was given.
    np.testing.assert_allclose(chunk[0], block.clamp(-1, 1).view(5, 2).numpy(), atol=1e-5)


def bank_search(iterations: int) -> tuple[torch.Tensor, list[torch.Tensor], list[torch.Tensor]]:
    """A search over the bank for a bowl's bottom: what it returned, what it tried and what that cost."""
    generator = torch.Generator().manual_seed(1)
    bank = torch.randn(8, 2, 3, generator=generator)
    cost, tried, costs = BowlCost(torch.randn(2, 2, 3, generator=generator)), list[torch.Tensor](), list[torch.Tensor]()

    def listening(candidates: torch.Tensor):
        score = cost(candidates)
        tried.append(candidates)
        costs.append(score.cost)
        return score

    start = macro_bank.nearest(bank, torch.zeros(2, 2, 3))
    proposal = macro_bank.BankResidual(bank, torch.full_like(start, macro_bank.RESIDUAL), start)
    noise = Noise(0, np.arange(2), np.zeros(2, np.int64), 1)
    found = search(listening, proposal, Budget(candidates=12, iterations=iterations, elites=3), noise)
    return found.plan, tried, costs


def test_a_search_over_the_bank_returns_the_best_candidate_it_tried():
    plan, tried, costs = bank_search(4)
    candidates, cost = torch.cat(tried, 1), torch.cat(costs, 1)
    best = candidates[torch.arange(2), cost.argmin(1)]
    assert torch.equal(plan, best)


def test_what_the_bank_search_tries_stays_near_what_occurred():
    _, (first, *_), _ = bank_search(1)
    generator = torch.Generator().manual_seed(1)
    bank = torch.randn(8, 2, 3, generator=generator)
    gap = (first - macro_bank.nearest(bank, first)).abs()
    assert float(gap.max()) < 6 * macro_bank.RESIDUAL
    assert float(gap[:, 1:].min()) > 0


def test_an_outside_advisor_acts_in_chunks_of_five_and_stands_still_where_it_is_not_understood():
    controller = external.METHOD.controller(torch.nn.Identity(), external.METHOD.settings(external.PLANNER, ""), ACTING)
    places = np.random.default_rng(0).uniform(30, 100, (40, 2)).astype(np.float32).astype(np.float64)
    tasks = tuple(
        Task(index=i, env_seed=0, start=tuple(a), goal=tuple(b), episode=i, start_row=0, initially_solved=False)
        for i, (a, b) in enumerate(zip(places[:20].tolist(), places[20:].tolist(), strict=True))
    )
    taskset = TaskSet(world="two_cameras", rule="reach16", collection="dev", protocol="heldout",
                      goal_offset_env_steps=25, budget_env_steps=50, seed=1000, tasks=tasks)  # fmt: skip
    played = run(WORLD, controller, taskset, size=HEIGHT, variant="snap", system="toy", weights_digest="",
                 keep_traces=True)  # fmt: skip
    begun = [trace.env_step for trace in played.traces]
    assert len(begun) > 1
    assert begun == list(range(0, 5 * len(begun), 5))
    assert all(outcome.decisions == -(-outcome.steps // 5) for outcome in played.outcomes)
    assert any(outcome.success for outcome in played.outcomes)
    answers = [answers for trace in played.traces for answers in trace.decision.answers]
    refused = [words for words in answers if words[0].startswith("Sorry")]
    assert 0 < len(refused) < len(answers)
    assert all(len(words) == 2 for words in refused)


def test_an_advisor_that_never_answers_is_left_after_so_many_questions(monkeypatch):
    monkeypatch.setattr(external, "advise", lambda question, now, goal: "[[1, 2")
    controller = external.METHOD.controller(
        torch.nn.Identity(), replace(external.METHOD.settings(external.PLANNER, ""), attempts=3), ACTING
    )
    pictures = WORLD.draw(np.array([[60.0, 60.0]]), HEIGHT)
    memory = controller.start(Goal(frames={"front": pictures}), [0], 0)
    chunk, _, decision = controller.act(memory, Observation(frames={"front": pictures}))
    assert chunk.shape == (1, 5, 2)
    assert not chunk.any()
    assert decision.answers == [["[[1, 2"] * 3]
