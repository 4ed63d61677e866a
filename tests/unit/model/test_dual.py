"""The whole model: the paper's exact sizes, the two levels' verbs, what refuses to be built."""

import pytest
import torch
from torch import nn

from dualwm.errors import RecipeError
from dualwm.model.dual import DualWM, HighConfig, LowConfig, ModelConfig, parameters
from dualwm.model.encoder import ConvEncoder, ViTEncoder
from dualwm.model.macro import VariationalMacro
from dualwm.model.window_encoder import TransformerWindow
from dualwm.nets.transformer import TransformerSize

SMALL = TransformerSize(depth=1, heads=2, head_width=4, hidden=8)


def paper(frame_skip: int, action_dim: int) -> DualWM:
    encoder = ViTEncoder(cameras=(("front", 224, 224),))
    config = ModelConfig(
        frame_skip=frame_skip, window=3, action_dim=action_dim, low=LowConfig(encoder=encoder), high=HighConfig()
    )
    with torch.device("meta"):
        return DualWM(config)


def small(proprio: tuple[tuple[str, int], ...] = (), cameras: tuple[str, ...] = ("front",)) -> DualWM:
    torch.manual_seed(0)
    encoder = ConvEncoder(
        cameras=tuple((name, 8, 12) for name in cameras), proprio=proprio, channels=(4, 4), projector_hidden=16
    )
    return DualWM(
        ModelConfig(
            frame_skip=2,
            window=3,
            action_dim=2,
            low=LowConfig(encoder=encoder, width=6, predictor=SMALL, head_hidden=8, action_hidden=8),
            high=HighConfig(
                width=5,
                window_encoder=TransformerWindow(size=SMALL),
                macro_encoder=VariationalMacro(macro_width=3, width=8, size=SMALL),
                predictor=SMALL,
            ),
        )
    ).eval()


def stir(model: nn.Module) -> None:
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.3 * torch.randn_like(p))


def frames(count: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, 256, (count, 8, 12, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(
    ("frame_skip", "action_dim", "embedding", "macro"),
    [(5, 2, 156_206, 2_784_800), (5, 5, 156_356, 2_787_680), (1, 5, 156_156, 2_783_840)],
)
def test_the_papers_sizes_have_exactly_the_known_numbers_of_parameters(
    frame_skip: int, action_dim: int, embedding: int, macro: int
):
    model = paper(frame_skip, action_dim)
    low, high = model.low, model.high
    assert parameters(low.E_L.backbones["front"]) == 5_501_376
    assert parameters(low.E_L.projector) == parameters(low.P_L.head) == 792_768
    assert parameters(low.embed_action) == embedding
    assert parameters(low.P_L.core) == 10_791_360
    assert parameters(high.E_H) == 2_810_304
    assert parameters(high.P_H) == 10_790_976
    assert high.P_H.head is None
    assert parameters(high.E_A) == macro
    assert parameters(low) == 17_878_272 + embedding
    assert parameters(high) == 13_601_280 + macro
    if frame_skip * action_dim == 10:
        assert (parameters(low), parameters(high)) == (18_034_478, 16_386_080)


def test_the_levels_speak_in_the_shapes_of_the_paper():
    model = small()
    z = model.encode({"front": frames(4)})
    assert z.shape == (4, 6)
    assert model.lift(z[None, :3]).shape == (1, 5)
    assert model.low.rollout(torch.randn(2, 2, 6), torch.randn(2, 5, 4)).shape == (2, 4, 6)
    assert model.high.rollout(torch.randn(2, 5), torch.randn(2, 7, 3)).shape == (2, 7, 5)


def test_a_low_rollout_reads_past_actions_before_future_ones():
    model = small()
    stir(model)
    z, a = torch.randn(2, 2, 6), torch.randn(2, 5, 4)
    expected = model.low.P_L.rollout(z, model.low.embed_action(a), 4)
    assert torch.equal(model.low.rollout(z, a), expected)
    later = a.clone()
    later[:, 3:] += 1.0
    changed = (model.low.rollout(z, later) != model.low.rollout(z, a)).any(-1)[0]
    assert changed.tolist() == [False, False, True, True]


def test_high_states_step_one_macro_action_at_a_time_from_their_predecessor_alone():
    model = small()
    stir(model)
    z, u = torch.randn(2, 5), torch.randn(2, 3, 3)
    state = z
    for m in range(3):
        state = model.high.P_H(state[:, None], model.high.E_A.lift(u[:, m])[:, None])[:, 0]
        torch.testing.assert_close(model.high.rollout(z, u)[:, m], state)


def test_every_camera_and_every_proprio_column_is_heard_and_nothing_else_is_asked_for():
    model = small(proprio=(("arm", 3),), cameras=("front", "wrist"))
    seen = {"front": frames(2), "wrist": frames(2, seed=1)}
    arm = {"arm": torch.randn(2, 3)}
    z = model.encode(seen, arm)
    assert not torch.allclose(model.encode({**seen, "wrist": frames(2, seed=2)}, arm), z)
    assert not torch.allclose(model.encode({**seen, "front": frames(2, seed=2)}, arm), z)
    assert not torch.allclose(model.encode(seen, {"arm": arm["arm"] + 1}), z)
    assert torch.equal(model.encode(seen, {**arm, "state": torch.randn(2, 4)}), z)


def test_frames_that_cannot_be_cut_into_patches_are_refused_with_both_sizes():
    encoder = ConvEncoder(cameras=(("front", 30, 32),), patch=4)
    with pytest.raises(RecipeError, match=r"30 x 32 pixels .* patches of 4"):
        DualWM(ModelConfig(frame_skip=1, window=2, action_dim=2, low=LowConfig(encoder=encoder), high=HighConfig()))


def test_clocks_below_one_are_refused():
    with pytest.raises(RecipeError, match="frame_skip, window and action_dim"):
        ModelConfig(frame_skip=0, window=2, action_dim=2, low=LowConfig(encoder=None), high=HighConfig())
