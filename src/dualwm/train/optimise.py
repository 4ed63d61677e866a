"""One stage's optimiser: AdamW on the trained modules, the learning-rate curve, one step, and what stays frozen."""

import hashlib
import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import torch
from torch import nn

from dualwm.errors import RecipeError
from dualwm.nets.dropout import DropoutKey, keyed
from dualwm.shapes import Float, Tensor
from dualwm.train.distributed import Processes
from dualwm.train.stage import Batch, M, Stage, StageSettings, StepKey, check_terms


def learning_rate(settings: StageSettings, step: int) -> float:
    """The rate of optimiser step `step` (0 at the first): linear up to the peak, half-cosine towards zero."""
    warmup = max(1, math.floor(settings.warmup_fraction * settings.steps))
    if step < warmup:
        return settings.learning_rate * (step + 1) / warmup
    return settings.learning_rate * 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, settings.steps - warmup)))


@dataclass(frozen=True)
class StepResult:
    """One optimiser step, averaged over the global batch. Tensors, so that a GPU need not be waited for."""

    loss: Float[Tensor, ""]
    terms: Mapping[str, Float[Tensor, ""]]
    gradient_norm: Float[Tensor, ""]
    """Before clipping."""

    @property
    def finite(self) -> bool:
        """Whether the weights survived this step."""
        return bool(torch.isfinite(self.loss) & torch.isfinite(self.gradient_norm))


class Optimiser:
    """AdamW on the modules a stage trains. Holds nothing that is not in `tensors`."""

    def __init__(self, model: nn.Module, trained: Sequence[nn.Module], settings: StageSettings) -> None:
        inside = {id(p) for module in trained for p in module.parameters()}
        self.parameters = {name: p for name, p in model.named_parameters() if id(p) in inside}
        if len(self.parameters) != len(inside):
            raise RecipeError("A stage may only train modules of the model it is given; it names others.")
        if not self.parameters:
            raise RecipeError("The stage trains no parameters: `trained` names no module that has any.")
        self._settings = settings
        parameters = list(self.parameters.values())
        self._adamw = torch.optim.AdamW(
            parameters,
            lr=settings.learning_rate,
            weight_decay=settings.weight_decay,
            # One pass over memory instead of several: on a CPU six times faster than `foreach`.
            fused=parameters[0].device.type in ("cpu", "cuda", "mps"),
        )

    def update(self, loss: Tensor, terms: Mapping[str, Tensor], step: int, processes: Processes) -> StepResult:
        """Backward, average over processes, clip, step."""
        self._adamw.zero_grad(set_to_none=True)
        loss.backward()
        logged = torch.stack([loss.detach().float(), *(term.detach().float() for term in terms.values())])
        processes.average([*(p.grad for p in self.parameters.values() if p.grad is not None), logged])
        norm = nn.utils.clip_grad_norm_(list(self.parameters.values()), self._settings.clip)
        result = StepResult(logged[0], dict(zip(terms, logged[1:], strict=True)), norm)
        for group in self._adamw.param_groups:
            group["lr"] = learning_rate(self._settings, step)
        self._adamw.step()
        return result

    def tensors(self) -> dict[str, Tensor]:
        """The optimiser's state by name."""
        return {
            f"{key}/{name}": value
            for name, parameter in self.parameters.items()
            for key, value in self._adamw.state.get(parameter, {}).items()
        }

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Continue from what `tensors` returned."""
        state: dict[int, dict[str, Tensor]] = {}
        for number, name in enumerate(self.parameters):
            # clone(): memory of torch's own alignment, so that the arithmetic repeats to the last bit
            mine = {key.split("/", 1)[0]: t.clone() for key, t in tensors.items() if key.split("/", 1)[1] == name}
            if mine:
                state[number] = mine
        self._adamw.load_state_dict({"state": state, "param_groups": self._adamw.state_dict()["param_groups"]})


def autocast(settings: StageSettings, device: torch.device) -> AbstractContextManager[object]:
    """The arithmetic the settings ask for."""
    return torch.autocast(device.type, torch.bfloat16, enabled=settings.precision == "bfloat16")


def loss_and_terms(stage: Stage[M], model: M, batch: Batch, key: StepKey) -> tuple[Tensor, dict[str, Tensor]]:
    """This process's weighted loss and its terms: the sum of Eq. (7), for any method."""
    device = next(iter(batch.values())).device
    with autocast(stage.settings, device), keyed(model, DropoutKey(key.seed, key.step, key.sample_ids)):
        terms = stage.terms(model, batch, key)
    check_terms(terms, stage.weights)
    total = torch.stack([stage.weights[name] * term.float() for name, term in terms.items()]).sum()
    return total, terms


@contextmanager
def only_trained(model: nn.Module, trained: Sequence[nn.Module]) -> Generator[None, None, None]:
    """Within this context gradients reach the trained modules only; afterwards everything is as it was."""
    before = {p: p.requires_grad for p in model.parameters()}
    inside = {id(p) for module in trained for p in module.parameters()}
    try:
        for p in before:
            p.requires_grad_(id(p) in inside)
        set_modes(model, trained)
        yield
    finally:
        for p, wanted in before.items():
            p.requires_grad_(wanted)
            p.grad = None
        model.eval()


def set_modes(model: nn.Module, trained: Sequence[nn.Module]) -> None:
    """Training mode for the trained modules, evaluation mode for all others."""
    model.eval()
    for module in trained:
        module.train()


@contextmanager
def unchanged(model: nn.Module) -> Generator[None, None, None]:
    """Whatever happens to the model within this context, at its end weights and buffers are as they were."""
    tensors = [*model.parameters(), *model.buffers()]
    before = [tensor.detach().clone() for tensor in tensors]
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, value in zip(tensors, before, strict=True):
                tensor.copy_(value)


def frozen_digests(model: nn.Module, trained: Sequence[nn.Module]) -> dict[str, str]:
    """SHA-256 of every parameter and buffer, BatchNorm statistics included, that a stage must not touch."""
    inside = {id(t) for module in trained for t in (*module.parameters(), *module.buffers())}
    return {
        name: hashlib.sha256(
            tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes()
        ).hexdigest()
        for name, tensor in (*model.named_parameters(), *model.named_buffers())
        if id(tensor) not in inside and tensor.numel()
    }
