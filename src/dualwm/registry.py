"""Names for parts: what a configuration file may say, and nothing else.

A part is built from plain data `{"part": NAME, ...fields}` by looking NAME up among the parts of its kind.
Built-in parts register themselves when their module is imported; other packages add theirs through the
entry-point group `dualwm.parts` (each entry point is a module that calls `part` when imported). A configuration
can therefore never name code by its import path.
"""

import dataclasses
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from dualwm.errors import RecipeError, did_you_mean

T = TypeVar("T", bound=type)

_parts: dict[str, dict[str, type]] = {}
_names: dict[type, tuple[str, str]] = {}
_loaded_entry_points = False


def part(kind: str, name: str) -> Callable[[T], T]:
    """Class decorator: a frozen dataclass becomes the configuration of part `name` of `kind`."""

    def register(cls: T) -> T:
        taken = _parts.setdefault(kind, {}).get(name)
        if taken is not None and taken is not cls and taken.__qualname__ != cls.__qualname__:
            raise RecipeError(f"Two parts of kind {kind!r} want the name {name!r}: {taken} and {cls}.")
        _parts[kind][name] = cls
        _names[cls] = (kind, name)
        return cls

    return register


def known(kind: str) -> dict[str, type]:
    """Every configuration class of one kind, by name, other packages' included."""
    global _loaded_entry_points
    if not _loaded_entry_points:
        _loaded_entry_points = True
        for entry in entry_points(group="dualwm.parts"):
            entry.load()
    return dict(_parts.get(kind, {}))


def find(kind: str, name: str) -> type:
    """The configuration class of one part; an unknown name is an error that suggests the nearest."""
    parts = known(kind)
    if name not in parts:
        raise RecipeError(f"There is no {kind} named {name!r}. {did_you_mean(name, parts)}")
    return parts[name]


def to_plain(config: Any) -> Any:
    """Plain JSON data of a configuration: dataclasses become mappings, registered ones carry their part's name."""
    if dataclasses.is_dataclass(config) and not isinstance(config, type):
        fields = {f.name: to_plain(getattr(config, f.name)) for f in dataclasses.fields(config)}
        return {"part": _names[type(config)][1], **fields} if type(config) in _names else fields
    if isinstance(config, Mapping):
        return {str(key): to_plain(value) for key, value in config.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(config, (tuple, list)):
        return [to_plain(value) for value in config]  # pyright: ignore[reportUnknownVariableType]
    return config


def from_plain(kind: str, data: Any, where: str) -> Any:
    """The configuration of a part of `kind` from plain data; unknown keys and names are refused by name."""
    if not isinstance(data, Mapping) or "part" not in data:
        raise RecipeError(f"{where}: expected a mapping with the key 'part' naming a {kind}, found {data!r}.")
    rest = dict(_mapping(data, where))  # pyright: ignore[reportUnknownArgumentType]
    return dataclass_from_plain(find(kind, str(rest.pop("part"))), rest, where)


def dataclass_from_plain(cls: type, data: Mapping[str, Any], where: str) -> Any:
    """An instance of a dataclass from plain data. Nested parts are found by their field's `kind` metadata."""
    fields = {f.name: f for f in dataclasses.fields(cls)}
    for key in data:
        if key not in fields:
            raise RecipeError(f"{where}: {cls.__name__} has no setting {key!r}. {did_you_mean(key, fields)}")
    values: dict[str, Any] = {}
    hints = get_type_hints(cls)
    for key, value in data.items():
        if not _fits(value, hints[key]):
            raise RecipeError(f"{where}: {cls.__name__}.{key} {_expected(hints[key], value)}")
        metadata = fields[key].metadata
        if "kind" in metadata:
            value = from_plain(metadata["kind"], value, f"{where}.{key}")
        elif "config" in metadata:
            value = dataclass_from_plain(metadata["config"], _mapping(value, f"{where}.{key}"), f"{where}.{key}")
        elif isinstance(value, list):
            value = tuple(tuple(v) if isinstance(v, list) else v for v in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        values[key] = value
    try:
        return cls(**values)
    except TypeError as problem:
        raise RecipeError(f"{where}: {cls.__name__} cannot be made from {data!r}: {problem}") from problem


def _mapping(data: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise RecipeError(f"{where}: expected a mapping of settings, found {data!r}.")
    return {str(key): value for key, value in data.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _fits(value: Any, hint: Any) -> bool:
    """Whether a plain value may stand in a field of this type; only what plain data can tell is looked at."""
    if get_origin(hint) in (Union, UnionType):
        return any(_fits(value, one) for one in get_args(hint))
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint) if hint in (bool, str, NoneType) else True


def _expected(hint: Any, value: Any) -> str:
    if get_origin(hint) is Literal:
        return f"cannot be {value!r}. {did_you_mean(str(value), map(str, get_args(hint)))}"
    return f"should be of type {getattr(hint, '__name__', hint)}, found {value!r}."


def sub(kind: str, default: Any = dataclasses.MISSING) -> Any:
    """A dataclass field that holds another part of `kind`."""
    return dataclasses.field(default=default, metadata={"kind": kind})


def nested(config: type, default: Any = dataclasses.MISSING) -> Any:
    """A dataclass field that holds a plain configuration dataclass (no registered name)."""
    return dataclasses.field(default=default, metadata={"config": config})
