"""Dual-latent world models that plan towards a goal image over long horizons.

    system = dualwm.load("tworoom")            # shipped weights, or the path of a System folder
    controller = system.controller()           # acts towards a goal: all that evaluation knows of a method

The public names below are looked up when first used (PEP 562): importing `dualwm` imports neither torch nor numpy.
`dualwm.evaluate` is both a room of the package and the function that runs a system on tasks: the room is callable.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dualwm.errors import (
        ControllerError as ControllerError,
        DataError as DataError,
        DualWMError as DualWMError,
        ProtocolError as ProtocolError,
        RecipeError as RecipeError,
        SystemFolderError as SystemFolderError,
        WorldError as WorldError,
    )
    from dualwm.records import (
        Episode as Episode,
        Goal as Goal,
        Observation as Observation,
        Outcome as Outcome,
        Task as Task,
        TaskSet as TaskSet,
    )
    from dualwm.states import State as State
    from dualwm.zoo import Planner as Planner, System as System, evaluate as evaluate, load as load

__version__ = "0.1.0"

_HOMES = {
    "ControllerError": "dualwm.errors",
    "DataError": "dualwm.errors",
    "DualWMError": "dualwm.errors",
    "Episode": "dualwm.records",
    "Goal": "dualwm.records",
    "Observation": "dualwm.records",
    "Outcome": "dualwm.records",
    "Planner": "dualwm.zoo",
    "ProtocolError": "dualwm.errors",
    "RecipeError": "dualwm.errors",
    "State": "dualwm.states",
    "System": "dualwm.zoo",
    "SystemFolderError": "dualwm.errors",
    "Task": "dualwm.records",
    "TaskSet": "dualwm.records",
    "WorldError": "dualwm.errors",
    "evaluate": "dualwm.zoo",
    "load": "dualwm.zoo",
}
"""Public name -> the module it lives in. `__all__` is this table; a test keeps both honest."""

__all__ = ["__version__", *sorted(_HOMES)]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Import the module a public name lives in, the first time the name is used."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'dualwm' has no attribute {name!r}")
    if name == "evaluate":
        return import_module("dualwm.evaluate")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


class _EvaluateRoom(ModuleType):
    """The room `dualwm.evaluate`, which is also the public function of that name."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return import_module(_HOMES["evaluate"]).evaluate(*args, **kwargs)


class _Package(ModuleType):
    """This package: whoever imports the room first, by whatever path, it arrives here and becomes callable."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "evaluate" and type(value) is ModuleType:
            value.__class__ = _EvaluateRoom
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
