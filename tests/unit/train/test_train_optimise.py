from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from train_toy import SETTINGS, Low, Samples, Toy

from dualwm.errors import RecipeError
from dualwm.train.distributed import Processes
from dualwm.train.loop import step_key
from dualwm.train.optimise import Optimiser, frozen_digests, learning_rate, loss_and_terms, only_trained
from dualwm.train.stage import StageSettings, check_terms


def test_the_learning_rate_rises_linearly_and_falls_by_half_a_cosine():
    settings = replace(SETTINGS, steps=110, warmup_fraction=10 / 110, learning_rate=1.0)
    rates = [learning_rate(settings, step) for step in range(110)]
    assert rates[:10] == pytest.approx([(i + 1) / 10 for i in range(10)])
    assert rates[10] == 1.0
    assert rates[60] == pytest.approx(0.5)
    assert rates[109] < 1e-3
    assert all(a > b for a, b in pairwise(rates[10:]))


def test_terms_and_weights_must_carry_the_same_names():
    check_terms({"a": 1, "b": 2}, {"b": 0.0, "a": 1.0})
    with pytest.raises(RecipeError, match=r"Terms: a, b\. Weights: a, c\. Without weight: b; without term: c\."):
        check_terms({"a": 1, "b": 2}, {"a": 1.0, "c": 1.0})


def test_the_loss_is_the_weighted_sum_of_its_terms():
    stage = Low(weights={"fit": 2.0, "gauss": 0.5})
    with torch.no_grad():
        loss, terms = one_loss(stage, Toy())
    assert float(loss) == pytest.approx(2 * float(terms["fit"]) + 0.5 * float(terms["gauss"]))
    assert min(map(float, terms.values())) > 0, "a sum of nothing proves nothing"


def one_loss(stage, model):
    batch = stage.samples.read(torch.arange(16).numpy())
    return loss_and_terms(stage, model, batch, step_key(0, "low", "train", 0, slice(0, 16)))


def test_a_missing_weight_stops_at_the_first_step():
    with pytest.raises(RecipeError, match="Without weight: gauss"):
        one_loss(Low(weights={"fit": 1.0}), Toy())


def test_only_trained_modules_receive_gradients_and_training_mode():
    model = Toy()
    with only_trained(model, [model.head]):
        assert model.head.training
        assert not model.body.training
        assert all(p.requires_grad for p in model.head.parameters())
        assert not any(p.requires_grad for p in model.body.parameters())
    assert all(p.requires_grad for p in model.parameters())
    assert not model.training


def test_frozen_digests_see_a_buffer_move_and_ignore_what_is_trained():
    model = Toy()
    before = frozen_digests(model, [model.head])
    model.head[0].weight.data += 1
    assert frozen_digests(model, [model.head]) == before
    model.body[1].running_mean += 1e-7
    after = frozen_digests(model, [model.head])
    assert [name for name in before if before[name] != after[name]] == ["body.1.running_mean"]


def test_the_gradient_is_clipped_to_its_global_norm_and_reported_as_it_was():
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 4)
    optimiser = Optimiser(model, [model], replace(SETTINGS, clip=0.5))
    loss = 100 * model(torch.ones(2, 4)).square().mean()
    result = optimiser.update(loss, {"a": loss}, 0, Processes())
    clipped = torch.cat([p.grad.ravel() for p in model.parameters()]).norm()
    assert clipped == pytest.approx(0.5, rel=1e-4)
    assert result.gradient_norm > 10
    assert result.finite


def test_the_optimiser_continues_from_its_tensors_to_the_last_bit():
    def steps(optimiser, model, numbers):
        for number in numbers:
            loss = model(torch.full((2, 3), 0.1 * number)).square().mean()
            optimiser.update(loss, {}, number, Processes())

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    optimiser = Optimiser(model, [model], SETTINGS)
    steps(optimiser, model, range(4))
    weights = {k: v.clone() for k, v in model.state_dict().items()}
    moments = {k: v.clone() for k, v in optimiser.tensors().items()}
    steps(optimiser, model, range(4, 9))
    straight = {k: v.clone() for k, v in model.state_dict().items()}
    model.load_state_dict(weights)
    again = Optimiser(model, [model], SETTINGS)
    again.load(moments)
    steps(again, model, range(4, 9))
    assert all(torch.equal(straight[k], v) for k, v in model.state_dict().items())


def test_training_modules_of_another_model_is_refused():
    with pytest.raises(RecipeError, match="names others"):
        Optimiser(Toy(), [Toy().head], SETTINGS)


def test_training_nothing_is_refused():
    with pytest.raises(RecipeError, match="trains no parameters"):
        Optimiser(Toy(), [torch.nn.GELU()], SETTINGS)


def test_dropout_masks_are_functions_of_the_step_and_of_the_sample():
    class Masks(Low):
        def terms(self, model, batch, step):
            masks.append(model.body[3](torch.ones(len(batch["x"]), 100)) > 0)
            return super().terms(model, batch, step)

    masks, model = [], Toy().train()
    for step, part in ((3, slice(0, 16)), (3, slice(0, 16)), (4, slice(0, 16)), (3, slice(8, 16))):
        batch = Samples().read(torch.arange(part.start, part.stop).numpy())
        loss_and_terms(Masks(), model, batch, step_key(0, "low", "train", step, part))
    first, again, later, half = masks
    assert torch.equal(first, again)
    assert not torch.equal(first, later)
    assert torch.equal(first[8:], half)
    assert not torch.equal(first[0], first[1])


def test_bfloat16_computes_in_autocast_and_keeps_float32_weights():
    seen = []

    class Spy(Low):
        def terms(self, model, batch, step):
            seen.append(model.body[0](batch["x"]).dtype)
            return super().terms(model, batch, step)

    model = Toy()
    optimiser = Optimiser(model, [model.body], SETTINGS)
    loss, terms = one_loss(Spy(settings=replace(SETTINGS, precision="bfloat16")), model)
    optimiser.update(loss, terms, 0, Processes())
    assert seen == [torch.bfloat16]
    assert loss.dtype == torch.float32
    assert {p.dtype for p in model.parameters()} == {torch.float32}


@pytest.mark.parametrize(
    ("field", "value"), [("batch_size", 0), ("log_every_steps", 0), ("clip", 0.0), ("warmup_fraction", 1.0)]
)
def test_impossible_settings_are_refused_by_name(field, value):
    with pytest.raises(RecipeError, match=field):
        replace(SETTINGS, **{field: value})


def test_settings_know_two_precisions():
    with pytest.raises(Exception, match="precision"):
        StageSettings(steps=1, batch_size=1, learning_rate=0.1, precision="float16")


def test_the_toys_source_is_a_pure_function_of_its_indices():
    whole = Samples().read(torch.arange(8).numpy())["x"]
    assert torch.equal(Samples().read(torch.tensor([6, 2]).numpy())["x"], whole[[6, 2]])
