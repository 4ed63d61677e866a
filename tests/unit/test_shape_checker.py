"""Annotations are really checked while tests run, and only then."""

import subprocess
import sys
from typing import Protocol

import beartype.roar
import jaxtyping
import pytest
import torch
from shape_checker import check

from dualwm.loss.gaussian import random_directions
from dualwm.loss.maps import kl_per_dimension
from dualwm.states import State


def test_a_wrong_type_and_a_wrong_shape_are_refused_under_pytest():
    with pytest.raises((jaxtyping.TypeCheckError, beartype.roar.BeartypeCallHintViolation)):
        State(latent="not a tensor")
    with pytest.raises((jaxtyping.TypeCheckError, beartype.roar.BeartypeCallHintViolation)):
        random_directions(3, 2.5, torch.Generator())
    with pytest.raises((jaxtyping.TypeCheckError, beartype.roar.BeartypeCallHintViolation)):
        kl_per_dimension(torch.ones(2, 3), torch.ones(2, 4))


def test_nothing_is_checked_outside_pytest():
    code = "from dualwm.states import State; State(latent='anything'); import sys; print('beartype' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


def test_a_method_may_return_self():
    state = State(latent=torch.ones(2, 3))
    assert state[0].batch_shape == ()


def test_a_protocol_is_checked_by_its_members():
    class Loud(Protocol):
        def shout(self) -> str: ...

    class Crow:
        def shout(self) -> str:
            return "caw"

    @check
    def hear(animals: list[Loud] | None, one: Loud) -> str:
        return one.shout()

    assert hear([Crow()], Crow()) == "caw"
    with pytest.raises(beartype.roar.BeartypeCallHintViolation):
        hear(None, "a fish")
