"""Rollouts on the integrator, where the future is known: every index of states, actions and targets in its place."""

import pytest
import torch
from toys import IntegratorDynamics, IntegratorWorld

from dualwm.model.dynamics import Predictor, chained, supervised_targets
from dualwm.nets.transformer import TransformerSize
from dualwm.states import State

WORLD = IntegratorWorld()
SIZE = TransformerSize(depth=2, heads=2, head_width=4, hidden=12)

HISTORIES = pytest.mark.parametrize("history", [1, 2, 3])


def make(history: int = 3, head_hidden: int | None = 8) -> Predictor:
    """A predictor at random weights whose conditions act."""
    torch.manual_seed(1)
    net = Predictor(6, SIZE, history=history, head_hidden=head_hidden)
    with torch.no_grad():
        for p in net.parameters():
            p.add_(0.3 * torch.randn_like(p))
    return net.eval()


def clip(steps: int = 8, width: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    z, a = WORLD.episode(3, steps, width)
    return z / 10, a / 10


@HISTORIES
@pytest.mark.parametrize("observed", [1, 2, 3, 5])
def test_a_rollout_of_the_true_model_reproduces_the_future(history: int, observed: int):
    z, a = WORLD.episode(3, 9)
    predicted = IntegratorDynamics(history).rollout(z[:, :observed], a, 9 - observed)
    assert torch.equal(predicted, z[:, observed:])


@HISTORIES
def test_the_context_grows_to_the_history_and_then_slides(history: int):
    model = IntegratorDynamics(history)
    z, a = WORLD.episode(3, 9)
    model.rollout(z[:, :1], a, 5)
    assert [c.shape[1] for c in model.contexts] == [min(h, history) for h in (1, 2, 3, 4, 5)]
    assert torch.equal(model.contexts[-1], z[:, 5 - history : 5])


@HISTORIES
@pytest.mark.parametrize("free", [True, False])
def test_supervised_outputs_of_the_true_model_are_their_targets(history: int, free: bool):
    z, a = WORLD.episode(3, history + 4)
    outputs = IntegratorDynamics(history).supervised(z, a, 4, free=free, truncate=False)
    targets = supervised_targets(z, 4, history)
    assert outputs.shape == (3, 4, history, 2)
    assert torch.equal(outputs, targets)


@HISTORIES
def test_the_target_of_output_i_at_step_j_is_state_i_plus_j(history: int):
    z = torch.arange(10.0)[None, :, None].expand(2, -1, -1)
    targets = supervised_targets(z, 4, history)
    expected = torch.arange(1.0, 5)[:, None] + torch.arange(float(history))
    assert torch.equal(targets[0, :, :, 0], expected)


@HISTORIES
@pytest.mark.parametrize("free", [True, False])
def test_an_error_grows_when_predictions_are_fed_back_and_does_not_when_states_are(history: int, free: bool):
    """Step j feeds back j - 1 predictions; position i of it has been predicted from since step i + j > history."""
    z, a = WORLD.episode(3, history + 4)
    outputs = IntegratorDynamics(history, drift=1.0).supervised(z, a, 4, free=free, truncate=False)
    errors = (outputs - supervised_targets(z, 4, history))[0, :, :, 0]
    i, j = torch.arange(history)[None], torch.arange(1, 5)[:, None]
    imagined = (i + j - history).clamp_min(0) if free else torch.zeros(1)
    assert torch.equal(errors, 1.0 + imagined.expand(4, history))


def test_the_last_state_of_a_free_rollout_depends_on_the_encoded_start_only():
    model, (z, a) = make(), clip(7)
    outputs = model.supervised(z, a, 4, free=True, truncate=False)
    moved = z.clone()
    moved[:, 3:] += 1.0
    assert torch.equal(model.supervised(moved, a, 4, free=True, truncate=False), outputs)
    forced = model.supervised(z, a, 4, free=False, truncate=False)
    assert torch.equal(forced[:, 0], outputs[:, 0]), "the first step is teacher-forced either way"
    assert not torch.allclose(forced[:, 1:], outputs[:, 1:])


@pytest.mark.parametrize("free", [True, False])
def test_the_last_action_of_a_clip_is_never_used(free: bool):
    model, (z, a) = make(), clip(7)
    outputs = model.supervised(z, a, 4, free=free, truncate=False)
    a[:, -1] += 1.0
    assert torch.equal(model.supervised(z, a, 4, free=free, truncate=False), outputs)
    a[:, -2] += 1.0
    assert not torch.equal(model.supervised(z, a, 4, free=free, truncate=False)[:, -1], outputs[:, -1])


def test_truncation_changes_gradients_and_nothing_else():
    model, (z, a) = make(), clip(7)
    z.requires_grad_()
    through, cut = (model.supervised(z, a, 4, free=True, truncate=t) for t in (False, True))
    assert torch.equal(through, cut)
    (full,) = torch.autograd.grad(through[:, 3, -1].sum(), z, retain_graph=True)
    assert (full[:, :3].abs().amax((0, 2)) > 0).all(), "gradient flows through the whole chain"
    (short,) = torch.autograd.grad(cut[:, 3, -1].sum(), z, allow_unused=True)
    assert short is None or not short.any(), "no path leads past a prediction that was fed back"


def test_a_single_frame_gives_the_first_position_of_a_full_context():
    model, (z, a) = make(), clip()
    torch.testing.assert_close(model(z[:, :1], a[:, :1])[:, 0], model(z[:, :3], a[:, :3])[:, 0])


def test_predictions_do_not_depend_on_later_states_or_actions():
    model, (z, a) = make(), clip()
    out = model(z[:, :3], a[:, :3])
    z[:, 2] += 1.0
    a[:, 2] -= 1.0
    after = model(z[:, :3], a[:, :3])
    assert torch.equal(after[:, :2], out[:, :2])
    assert not torch.allclose(after[:, 2], out[:, 2])


def test_at_initialisation_no_prediction_depends_on_the_action():
    torch.manual_seed(0)
    model = Predictor(6, SIZE, history=3, head_hidden=None)
    z, a = clip(3)
    out = model(z, a)
    assert torch.equal(out, model(z, a + 1.0))
    expected = torch.nn.functional.layer_norm(z + model.core.positions, (6,))
    torch.testing.assert_close(out, expected)


def test_a_rollout_steps_through_its_own_predictions():
    model, (z, a) = make(history=2), clip()
    states = list(z[:, :2].unbind(1))
    for t in range(1, 5):
        states.append(model(torch.stack(states[t - 1 : t + 1], 1), a[:, t - 1 : t + 1])[:, -1])
    torch.testing.assert_close(model.rollout(z[:, :2], a, 4), torch.stack(states[2:], 1))


@HISTORIES
@pytest.mark.parametrize("span", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("observed", [1, 3])
def test_chained_jumps_of_any_span_reproduce_the_future(history: int, span: int, observed: int):
    """A jump sees at most `history` states, and their actions up to the last step it predicts."""
    z, a = WORLD.episode(3, 9)
    jumps: list[int] = []

    def jump(context: State, actions: torch.Tensor) -> State:
        t = context.latent.shape[1]
        assert t <= history
        torch.testing.assert_close(context.latent[:, 1:], context.latent[:, :-1] + actions[:, : t - 1])
        jumps.append(actions.shape[1] - t + 1)
        return State(WORLD.futures(context.latent[:, -1], actions[:, t - 1 :]))

    predicted = chained(jump, State(z[:, :observed]), a[:, :8], history=history, span=span)
    assert torch.equal(predicted.latent, z[:, observed:])
    assert sum(jumps) == 9 - observed
    assert max(jumps) <= span
