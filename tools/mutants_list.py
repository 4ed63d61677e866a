"""The faults that `make mutants` plants: one line each, with the test that must catch it.

`old` must occur exactly once in `file`; take as much of the line as that needs. `test` is a pytest node id, as narrow
as possible: only that test is run. A fault is a slip a person could make and a smooth loss would hide, no syntax error.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    file: str
    old: str
    new: str
    test: str


MUTANTS: tuple[Mutant, ...] = ()
