"""Which tests notice when a function returns zeros? A program, so that it can replace functions in its own process.

    python tests/zeroed.py ROWS.json VERDICTS.json      rows are pairs [dotted function, test node id]

Every named test runs as it is, and once for each of its functions with what that function returns made zero: the same
structure, shapes and types. A verdict is one word per row: `fails` (as it should), `passes` (the test does not notice),
`broken` (it does not pass as it is) or `missing` (no such test ran).
"""

import copy
import functools
import inspect
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

ROOT = Path(__file__).resolve().parents[1]
Row = tuple[str, str]
AS_IT_IS = "as it is"


def resolve(dotted: str) -> tuple[Any, str]:
    """The module or class a dotted name lives in, and its last word."""
    *path, name = dotted.split(".")
    owner: Any = import_module(path[0])
    for i, word in enumerate(path[1:], 2):
        if inspect.ismodule(owner) and not hasattr(owner, word):
            import_module(".".join(path[:i]))
        owner = getattr(owner, word)
    if inspect.ismodule(owner) and not hasattr(owner, name):
        import_module(dotted)
    return owner, name


def zeros(value: Any) -> Any:
    """A value of the same structure with every number in it zero; a function or module returns zeros from now on."""
    match value:
        case torch.nn.Module():
            value.register_forward_hook(lambda module, inputs, output: zeros(output))
            return value
        case torch.Tensor():
            return value.masked_fill(torch.ones_like(value, dtype=torch.bool), 0)  # keeps the graph
        case np.ndarray():
            return np.zeros_like(value)
        case bool() | int() | float() | np.number() | np.bool_():
            return type(value)(0)
        case Mapping():
            return {key: zeros(each) for key, each in value.items()}
        case tuple() | list():
            each = [zeros(x) for x in value]
            return type(value)(*each) if hasattr(value, "_fields") else type(value)(each)
    if is_dataclass(value) and not isinstance(value, type):
        # No __init__: a configuration of zeros would be refused.
        changed = copy.copy(value)
        for f in fields(value):
            object.__setattr__(changed, f.name, zeros(getattr(value, f.name)))
        return changed
    return returning_zeros(value) if inspect.isroutine(value) else value


def returning_zeros(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return zeros(function(*args, **kwargs))

    return wrapped


@contextmanager
def zeroed(dotted: str) -> Generator[None, None, None]:
    """Within this context the function returns zeros, under every name it was imported by in this project."""
    owner, name = resolve(dotted)
    original = inspect.getattr_static(owner, name)
    if isinstance(original, staticmethod):
        replacement: Any = staticmethod(returning_zeros(original.__func__))
    elif isinstance(original, property):
        replacement = property(returning_zeros(original.fget))
    else:
        replacement = returning_zeros(original)
    places = [(owner, name)] if inspect.isclass(owner) else list(imported_as(original))
    try:
        for place, each in places:
            setattr(place, each, replacement)
        yield
    finally:
        for place, each in places:
            setattr(place, each, original)


def imported_as(original: Any) -> Iterable[tuple[Any, str]]:
    for module in list(sys.modules.values()):
        if str(getattr(module, "__file__", "")).startswith(str(ROOT)):
            yield from [(module, name) for name, value in vars(module).items() if value is original]


class Zeroing:
    """The pytest plugin: every test of the rows is parametrised by what is zeroed while it runs."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self.outcomes: dict[Row, set[str]] = defaultdict(set)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        test = metafunc.definition.nodeid
        functions = [function for function, each in self.rows if each == test]
        metafunc.parametrize("what_is_zeroed", [AS_IT_IS, *functions], indirect=True)

    @pytest.fixture(autouse=True)
    def what_is_zeroed(self, request: pytest.FixtureRequest) -> Generator[None, None, None]:
        with nullcontext() if request.param == AS_IT_IS else zeroed(request.param):
            yield

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Generator[None, Any, Any]:
        report = yield
        # Only the test itself can notice: a fixture that stumbles over zeros proves nothing.
        if report.when == "call" or report.outcome != "passed":
            outcome = report.outcome if report.when == "call" else "error"
            row = (item.callspec.params["what_is_zeroed"], item.nodeid.partition("[")[0])
            self.outcomes[row].add(outcome)
        return report

    def verdict(self, row: Row) -> str:
        function, test = row
        whole, without = self.outcomes[AS_IT_IS, test], self.outcomes[function, test]
        if not whole:
            return "missing"
        if whole != {"passed"}:
            return "broken"
        return "fails" if "failed" in without else "passes"


def judge(rows: Sequence[Row]) -> list[str]:
    """One verdict per row."""
    plugin = Zeroing(rows)
    tests = sorted({test for _, test in rows})
    pytest.main(["-p", "no:xdist", "-q", "--tb=no", "--rootdir", str(ROOT), *tests], plugins=[plugin])
    return [plugin.verdict(row) for row in rows]


if __name__ == "__main__":
    asked, told = map(Path, sys.argv[1:])
    told.write_text(json.dumps(judge([(function, test) for function, test in json.loads(asked.read_text())])))
