"""Encoder, low step, E_H and high step leave through `torch.export` with any number of rows."""

import pytest
import torch
import zoo_toy
from torch import nn

METHOD = zoo_toy.wide_dropout_off(zoo_toy.method(cameras=zoo_toy.method().sees.cameras[:1], proprio=False))
MODEL = zoo_toy.stirred(METHOD)
LOW, HIGH, K = METHOD.model.low.width, METHOD.model.high.width, METHOD.model.window
MACRO = METHOD.model.high.macro_encoder.macro_width


class Encode(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.model = MODEL

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        return self.model.encode({"front": frames})


class LowStep(Encode):
    def forward(self, z: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        return self.model.low.rollout(z, a)


class Lift(Encode):
    def forward(self, window: torch.Tensor) -> torch.Tensor:
        return self.model.lift(window)


class HighStep(Encode):
    def forward(self, z: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        return self.model.high.rollout(z, u)


def inputs(part: type[nn.Module], rows: int) -> tuple[torch.Tensor, ...]:
    made = torch.Generator().manual_seed(rows)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(rows, *shape, generator=made)

    return {
        Encode: (torch.randint(0, 256, (rows, 16, 16, 3), generator=made, dtype=torch.uint8),),
        LowStep: (normal(1, LOW), normal(1, METHOD.model.block_width)),
        Lift: (normal(K, LOW),),
        HighStep: (normal(HIGH), normal(1, MACRO)),
    }[part]


@pytest.mark.parametrize("part", [Encode, LowStep, Lift, HighStep])
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
def test_an_exported_part_computes_the_same_for_any_number_of_rows(part: type[nn.Module]):
    rows = torch.export.Dim("rows", min=2, max=4096)
    module = part().eval()
    with torch.no_grad():
        example = inputs(part, 5)
        exported = torch.export.export(module, example, dynamic_shapes=tuple({0: rows} for _ in example))
        for count in (2, 11):
            given = inputs(part, count)
            torch.testing.assert_close(exported.module()(*given), module(*given), rtol=1e-5, atol=1e-6)
