"""Models at the sizes the bench speaks of, with random weights that make plans differ, and numbers to plan with."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from safetensors.torch import save_file

from bench.cases import WORK
from bench.reference import Plain
from dualwm.data.normalize import Normalizer, Scale
from dualwm.model.dual import DualWM
from dualwm.plan.controller import ThreeStage
from dualwm.plan.search import Cost
from dualwm.recipes import tworoom
from dualwm.zoo.dual_wm_method import DualWMMethod
from dualwm.zoo.method import Acting
from dualwm.zoo.recipe import Recipe
from dualwm.zoo.training import build

RECIPES = {"paper": tworoom.paper, "laptop": tworoom.laptop, "tiny": tworoom.tiny}


def recipe_of(size: str) -> Recipe:
    """The recipe whose sizes are meant."""
    return RECIPES[size]()


def random_model(size: str, seed: int = 0) -> tuple[DualWMMethod, DualWM]:
    """A model with random weights. At its own initialisation a predictor ignores actions; here it does not."""
    method: DualWMMethod = recipe_of(size).method
    model = cast(DualWM, build(recipe_of(size), seed)).eval()
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if ".modulation." in name:
                tensor.normal_(0, 0.5 * tensor.shape[-1] ** -0.5, generator=generator)
            elif name.endswith(("embed_action.mix.weight", "embed_action.up.weight", "embed_action.down.weight")):
                tensor.mul_(3)
            elif name.endswith("E_A.lift.weight"):
                tensor.mul_(2)
            elif name.endswith("norm.running_mean"):
                tensor.normal_(0, 0.1, generator=generator)
            elif name.endswith("norm.running_var"):
                tensor.uniform_(0.5, 1.5, generator=generator)
    return method, model


def acting(action_dim: int = 2) -> Acting:
    """Actions of TwoRoom's kind, in a box of one standard deviation."""
    scale = Scale(mean=(0.0,) * action_dim, std=(1.0,) * action_dim)
    normalizer = Normalizer(scales={"action": scale})
    return Acting(
        action_dim=action_dim, action_low=(-1.0,), action_high=(1.0,), discrete_values=None, normalizer=normalizer
    )


def controller(method: DualWMMethod, model: DualWM, **settings: Any) -> ThreeStage:
    """The package's controller over the model, with these planner settings and otherwise the paper's."""
    plain = {**tworoom.PAPER_SEARCH, **settings}
    made = method.controller(model, method.settings(plain, "bench"), acting())
    assert isinstance(made, ThreeStage)
    return made


def numbers(seed: int, *shape: int) -> torch.Tensor:
    """Standard normals that every Python with this numpy draws alike."""
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape, dtype=np.float32))


def plain(method: DualWMMethod, model: DualWM) -> Plain:
    """The plain reference over the same weights."""
    high: Any = method.model.high
    return Plain(
        weights={name: tensor.detach() for name, tensor in model.state_dict().items()},
        low_heads=method.model.low.predictor.heads,
        high_heads=high.predictor.heads,
        window_heads=high.window_encoder.size.heads,
        history=method.model.low.history,
        window=method.model.window,
    )


def low_sizes(method: DualWMMethod) -> dict[str, int]:
    """What a peer needs to build a predictor of the same sizes."""
    low = method.model.low
    return {
        "width": low.width,
        "depth": low.predictor.depth,
        "heads": low.predictor.heads,
        "head_width": low.predictor.head_width,
        "hidden": low.predictor.hidden,
        "history": low.history,
        "head_hidden": low.head_hidden,
        "bottleneck": low.action_bottleneck,
        "action_hidden": low.action_hidden,
        "block": method.model.block_width,
    }


def weights_file(size: str) -> Path:
    """Where `export` leaves a size's weights."""
    return WORK / f"{size}.safetensors"


def export(size: str) -> Mapping[str, Any]:
    """Write the low level's weights for peers to read."""
    _, model = random_model(size)
    tensors = {
        name: tensor.contiguous()
        for name, tensor in model.state_dict().items()
        if name.startswith(("low.P_L", "low.embed_action"))
    }
    WORK.mkdir(exist_ok=True)
    save_file(tensors, weights_file(size))
    return {"seconds": 0.0, "tensors": len(tensors)}


def scored(cost: Cost, candidates: torch.Tensor) -> torch.Tensor:
    """A cost's scores of one task's candidates (s, h, a)."""
    return cost(candidates[None]).cost[0]
