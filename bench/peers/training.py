"""A training step of the published modules with their own objective, in plain torch."""

import time
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from bench.flops import executed
from bench.peers.lewm import autocast, trained_model
from bench.peers.swm import swm

REGULARISER_WEIGHT = 0.09


def step(
    sizes: Mapping[str, int],
    dropout: float,
    projector_hidden: int,
    encoder: Mapping[str, Any],
    precision: str,
    per: str,
    frames: int,
    times: int,
) -> Mapping[str, Any]:
    """Seconds per frame or per window: encode, predict, regularise, backward, clip, AdamW."""
    length = sizes["history"] + 1
    windows, image = frames // length, encoder["image"]
    model = trained_model(sizes, dropout, projector_hidden, encoder).train()
    regulariser = swm.wm.loss.SIGReg(knots=17, num_proj=1024)
    optimiser = torch.optim.AdamW(model.parameters(), lr=5e-5, weight_decay=1e-3, fused=True)
    batch = {
        "pixels": torch.randn(windows, length, 3, image, image),
        "action": torch.randn(windows, length, sizes["block"]),
    }

    def once() -> None:
        with autocast(precision):
            seen = model.encode(dict(batch))
            z, actions = seen["emb"], seen["act_emb"]
            predicted = model.predict(z[:, :-1], actions[:, :-1])
            error = (predicted - z[:, 1:]).square().mean()
            loss = error + REGULARISER_WEIGHT * regulariser(z.transpose(0, 1))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()

    flops = executed(once)
    spent: list[float] = []
    for _ in range(times + 1):
        began = time.perf_counter()
        once()
        spent.append(time.perf_counter() - began)
    units = windows * (length if per == "frame" else 1)
    encoder_parameters = sum(p.numel() for p in model.encoder.parameters())
    facts = {"windows": windows, "encoder_parameters": encoder_parameters}
    return {"seconds": sorted(spent[1:])[times // 2] / units, "flops": flops / units, **facts}
