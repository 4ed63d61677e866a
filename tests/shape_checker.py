"""How annotations are checked under pytest: by beartype, told of `Self`, of protocols, which it knows by members, and
that a whole number may stand where a float is asked for.

Both are ordinary annotations to a type checker; the code should not have to change for this one.
"""

from collections.abc import Callable
from typing import Any, Self, get_args, runtime_checkable

from beartype import BeartypeConf, FrozenDict, beartype

_CONF = BeartypeConf(hint_overrides=FrozenDict({Self: Any}), is_pep484_tower=True)


def check(function: Callable[..., Any]) -> Any:
    """The function with its arguments and result checked."""
    for hint in getattr(function, "__annotations__", {}).values():
        _open_protocols(hint)
    return beartype(function, conf=_CONF)


def _open_protocols(hint: Any) -> None:
    """Let `isinstance` see the members of the protocols a hint speaks of."""
    if isinstance(hint, type) and getattr(hint, "_is_protocol", False):
        runtime_checkable(hint)
    for part in get_args(hint):
        _open_protocols(part)
