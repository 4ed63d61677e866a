"""What is stored of recorded episodes: the world's columns, and pictures where they are stored rather than drawn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dualwm.errors import DataError, DualWMError, in_one_line
from dualwm.records import Columns, ColumnSpec

Record = Callable[[Sequence[int], int], Sequence[Columns]]
"""(seeds, max_env_steps) -> one behaviour episode per seed, the same bytes whatever its batch mates."""


@runtime_checkable
class Recordable(Protocol):
    """What collecting needs to know of a world."""

    @property
    def name(self) -> str:
        """The world's name."""
        ...

    @property
    def columns(self) -> tuple[ColumnSpec, ...]:
        """What an episode stores."""
        ...

    @property
    def behaviour_law(self) -> Mapping[str, Any]:
        """How it behaves, as plain data."""
        ...

    def draw(self, states: NDArray[np.floating[Any]], size: int, camera: str = ...) -> NDArray[np.uint8]:
        """Pictures of states."""
        ...


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What every episode of a data set has in common."""

    columns: tuple[ColumnSpec, ...]
    max_env_steps: int

    def record(self, world: Recordable, record: Record, seeds: Sequence[int]) -> list[Columns]:
        """The stored columns of one episode per seed."""
        try:
            found = record(seeds, self.max_env_steps)
            assert len(found) == len(seeds), (len(found), len(seeds))
            kept = [spec for spec in self.columns if spec.kind != "drawn"]
            return [{spec.name: stored_rows(world, spec, rows) for spec in kept} for rows in found]
        except DualWMError:
            raise
        except Exception as problem:
            raise DataError(
                f"Recording the episodes of {world.name} with seeds {seeds[0]} to {seeds[-1]} stopped with an "
                f"exception inside the world: {in_one_line(problem)}. What was recorded before stays. Look for the "
                "cause with `dualwm data check-world`, mend the world, and type the same command again."
            ) from problem


def stored_rows(world: Recordable, spec: ColumnSpec, rows: Columns) -> NDArray[Any]:
    """A column of an episode, its pictures drawn if the world did not record them."""
    if spec.name in rows:
        return rows[spec.name]
    assert spec.kind == "frames", f"{world.name} recorded no column {spec.name!r}: {sorted(rows)}"
    states = rows[str(spec.draws_from)]
    return world.draw(states.reshape(len(states), -1), spec.shape[0], str(spec.camera))


def with_frames(world: Recordable, spec: ColumnSpec, shown: Columns, stored_size: int, codec: str | None) -> ColumnSpec:
    """The specification of a drawn column whose pictures are to be stored; `drawer` still says who drew them.

    How wide a camera's pictures are is for the world to say: `shown`, a first episode, is drawn to see it.
    """
    if spec.kind != "drawn":
        return spec
    stored = replace(spec, kind="frames", shape=(stored_size, stored_size, 3), codec=codec)
    return replace(stored, shape=stored_rows(world, stored, shown).shape[1:])
