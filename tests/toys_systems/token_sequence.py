"""Interleaved tokens: states and actions in one causal sequence of any length, trained on one random span at a time."""

from dataclasses import dataclass

import torch
from torch import nn

from dualwm.loss.lore import Rollout
from dualwm.model.dynamics import chained
from dualwm.nets.transformer import Transformer, TransformerSize
from dualwm.registry import nested, part
from dualwm.states import State
from dualwm.zoo.rollouts import roll_out, state_lore
from dualwm.zoo.stages import horizon
from toys_systems import shared
from toys_systems.shared import BLOCK, FRONT, WIDTH, OneLevel, RolloutStage, small_encoder

LONGEST = 4


class TokenModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = small_encoder(FRONT)
        self.dynamics = TokenSequence()

    def learned(self) -> list[nn.Module]:
        return [self]

    def encode(self, frames, proprio) -> State:
        return State(self.encoder(frames, proprio))


class TokenSequence(nn.Module):
    """[z, a, z, a, a, a, ...]: the token of an action tells the state after it."""

    history, span = 2, LONGEST

    def __init__(self) -> None:
        super().__init__()
        self.state, self.act = nn.Linear(WIDTH, WIDTH), nn.Linear(BLOCK, WIDTH)
        size = TransformerSize(depth=1, heads=2, head_width=8, hidden=16)
        self.core = Transformer(WIDTH, size, positions=3 + LONGEST, causal=True, conditioned=False)
        self.out = nn.Linear(WIDTH, WIDTH)

    def rollout(self, context: State, actions: torch.Tensor) -> State:
        return chained(self.jump, context, actions, history=self.history, span=self.span)

    def jump(self, context: State, actions: torch.Tensor) -> State:
        states, acts = self.state(context.latent), self.act(actions)
        t, ahead = states.shape[1], acts.shape[1] - states.shape[1] + 1
        observed = torch.stack([states[:, :-1], acts[:, : t - 1]], 2).flatten(1, 2)
        tokens = torch.cat([observed, states[:, -1:], acts[:, t - 1 :]], 1)
        return State(context.latent[:, -1:] + self.out(self.core(tokens)[:, -ahead:]))


class RandomSpan(RolloutStage):
    """One jump over a random number of blocks, the same for the whole batch; only where it lands is supervised."""

    def terms(self, model, batch, step) -> dict[str, torch.Tensor]:
        z, span = self.encoded(model, batch), horizon(self.rollout, step)
        predicted, target = roll_out(model.dynamics, z, batch["actions"], span, "direct")
        return {"lore": state_lore(predicted[:, -1:], target[:, -1:], self.rollout)}


@part("method", "toy_token_sequence")
@dataclass(frozen=True, kw_only=True)
class Tokens(OneLevel):
    """A direct prediction over a span drawn anew at each step."""

    rollout: Rollout = nested(Rollout, Rollout(steps=LONGEST, mode="direct", horizon="sampled"))

    def stages(self, inputs) -> list[RandomSpan]:
        return [RandomSpan(self, inputs)]

    def build(self) -> TokenModel:
        return TokenModel()


METHOD = Tokens()
PLANNER = {**shared.PLANNER, "history": 2}
