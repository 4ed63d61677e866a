"""W3: steps of low-level training, against the published modules trained with their own objective."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import torch

from bench.cases import Case, Options, Ratio, Side, Workload
from bench.flops import executed
from bench.models import low_sizes, numbers, recipe_of
from dualwm.loss.gaussian import Gaussian
from dualwm.reduce import ALONE
from dualwm.train.distributed import Processes
from dualwm.train.loop import step_key
from dualwm.train.optimise import Optimiser, loss_and_terms, only_trained
from dualwm.train.stage import StageSettings
from dualwm.zoo.lewm import LeWMMethod, LeWMObjective, LeWMStage

FRAMES = {"paper": 32, "laptop": 768}
"""Encoded in one step, on every side."""
CONTEXTS = 5
"""Windows that one encoded segment serves on our side, as in our recipes; a window of the peer has its own frames."""
SIDE_BY_SIDE = ("float32", "bfloat16")


def cases(options: Options) -> Sequence[Case]:
    """The paper's sizes by frames and by windows, the laptop's by windows."""
    paper = "laptop" if options.quick else "paper"
    made: list[Case] = []
    for precision in SIDE_BY_SIDE:
        frames = [
            _ours("ours", paper, precision, 1, "frame", options),
            _peer("peer", paper, precision, "frame", options),
        ]
        windows = [
            _ours("ours", paper, precision, CONTEXTS, "window", options),
            _peer("peer", paper, precision, "window", options),
        ]
        small = [
            _ours("ours", "laptop", precision, CONTEXTS, "window", options),
            _peer("peer, our encoder", "laptop", precision, "window", options, encoder="convolutions"),
            _peer("peer, ViT as large", "laptop", precision, "window", options),
        ]
        made += [
            Case(name=f"paper, frames, {precision}", unit="frame", sides=frames, goals=[_goal("peer", 1.0)]),
            Case(name=f"paper, windows, {precision}", unit="window", sides=windows, goals=[_goal("peer", 1.3)]),
            Case(
                name=f"laptop, {precision}",
                unit="window",
                sides=small,
                goals=[_goal("peer, our encoder", 2.0), _goal("peer, ViT as large", 2.0)],
            ),
        ]
    return made


def _goal(other: str, at_least: float) -> Ratio:
    return Ratio(ours="ours", other=other, at_least=at_least)


def _ours(name: str, size: str, precision: str, contexts: int, per: str, options: Options) -> Side:
    args = {"size": size, "precision": precision, "contexts": contexts, "per": per, **_steps(size, options)}
    return Side(name=name, call="bench.w3_training:ours", args=args, precision=precision)


def _peer(name: str, size: str, precision: str, per: str, options: Options, encoder: str = "vit") -> Side:
    method = recipe_of(size).method
    ((_, height, _),) = method.model.low.encoder.cameras
    vit = {"patch": 14, "vit_width": 192, "vit_depth": 12, "vit_heads": 3} if size == "paper" else SMALL_VIT
    args = {
        "sizes": low_sizes(method),
        "dropout": method.model.low.predictor.dropout,
        "projector_hidden": method.model.low.encoder.projector_hidden,
        "encoder": {"kind": encoder, "image": height, **vit},
        "precision": precision,
        "per": per,
        **_steps(size, options),
    }
    return Side(name=name, call="bench.peers.training:step", args=args, precision=precision, peer=True)


SMALL_VIT = {"patch": 16, "vit_width": 96, "vit_depth": 3, "vit_heads": 3}
"""With its projector 0.5 M parameters, as many as the laptop's convolutions have with theirs."""


def _steps(size: str, options: Options) -> dict[str, int]:
    return {
        "frames": 48 if options.quick else FRAMES[size],
        "times": 1 if options.quick else {"paper": 3, "laptop": 7}[size],
    }


def ours(size: str, precision: str, contexts: int, per: str, frames: int, times: int) -> Mapping[str, Any]:
    """Seconds per frame or per window of a whole optimiser step with LeWM's objective, batches lying ready."""
    base = recipe_of(size).method
    settings = StageSettings(steps=1000, batch_size=1, learning_rate=5e-5, precision=cast(Any, precision))
    method = LeWMMethod(
        frame_skip=base.model.frame_skip,
        action_dim=base.model.action_dim,
        low=base.model.low,
        objective=LeWMObjective(contexts=contexts, regulariser=Gaussian(form="epps_pulley", projections=1024)),
        stage=settings,
    )
    segments = frames // method.low_steps_needed
    method = replace(method, stage=replace(settings, batch_size=segments))
    stage, model = LeWMStage(method, cast(Any, SimpleNamespace(reduce=ALONE))), method.build()
    batch = _batch(method, segments)
    trained = stage.trained(model)
    with only_trained(model, trained):
        optimiser = Optimiser(model, trained, method.stage)

        def step(number: int) -> None:
            key = step_key(0, "low", "train", number, slice(0, segments))
            loss, terms = loss_and_terms(stage, model, batch, key)
            optimiser.update(loss, terms, number, Processes(device=torch.device("cpu")))

        flops = executed(lambda: step(0))
        spent: list[float] = []
        for number in range(1, times + 2):
            began = time.perf_counter()
            step(number)
            spent.append(time.perf_counter() - began)
    units = segments * (method.low_steps_needed if per == "frame" else contexts)
    return {"seconds": sorted(spent[1:])[times // 2] / units, "flops": flops / units, "segments": segments}


def _batch(method: LeWMMethod, segments: int) -> dict[str, torch.Tensor]:
    ((camera, height, width),) = method.sees.cameras
    shape = (segments, method.low_steps_needed, height, width, 3)
    frames = torch.randint(0, 256, shape, dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    actions = numbers(1, segments, method.low_steps_needed, method.frame_skip * method.action_dim)
    return {f"frames/{camera}": frames, "actions": actions}


WORKLOAD = Workload(
    name="W3",
    title="Low-level training",
    cases=cases,
    notes=(
        "Whole optimiser steps with LeWM's objective (one-step predictions in encoded contexts, Epps-Pulley "
        "regulariser, AdamW, clipping) on random pictures that lie ready, equal numbers of frames encoded per step. A "
        "window is one context with its next state. The peer encodes every window's frames for it alone; our segments "
        "serve five windows each in the cases by windows and one in those by frames. The laptop's encoder is "
        "convolutional; the peer runs once with the same convolutions and once with a ViT of as many parameters. Its "
        "frames are turned into floats outside the timing, ours inside."
    ),
)
