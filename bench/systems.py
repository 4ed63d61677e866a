"""Which trained system the bench plans with: the shipped one, else one in `runs/`, else one at random weights."""

from dataclasses import replace
from typing import Any

from bench.cases import ROOT, WORK
from dualwm.recipes import tworoom
from dualwm.zoo.system import shipped_systems
from dualwm.zoo.training import train

NAME = "tworoom"


def the_system() -> tuple[str, str]:
    """What `dualwm eval` calls it, and what it is. At random weights planning takes as long; success means nothing."""
    if NAME in shipped_systems():
        return NAME, "the shipped system"
    trained = sorted(folder.parent for folder in (ROOT / "runs").glob("tworoom-laptop-*/model.safetensors"))
    if trained:
        return str(trained[0]), "a system trained here"
    folder = WORK / "random-system"
    if not (folder / "model.safetensors").exists():
        train(untrained(), folder, WORK / "random-data")
    return str(folder), "random weights: nothing is shipped yet"


def untrained() -> Any:
    """The laptop recipe with no training steps."""
    recipe = tworoom.laptop()
    stages = {name: replace(getattr(recipe.method, name), steps=0) for name in ("low_stage", "high_stage")}
    return replace(recipe, episodes=40, method=replace(recipe.method, **stages))
