"""Which seeds belong to which collection. This is the one place that says it.

Training data, development tasks and test tasks come from behaviour episodes whose seeds cannot meet: a collection owns
a range of seeds, and an episode's seed is the collection's first seed plus its number.
"""

from dataclasses import dataclass

from dualwm.errors import DataError, did_you_mean


@dataclass(frozen=True, kw_only=True)
class Collection:
    """A named range of behaviour seeds, `end_seed` not included."""

    name: str
    first_seed: int
    end_seed: int
    purpose: str
    trainable: bool = False
    """Whether models and normalisers may be fitted on it."""


COLLECTIONS = {
    "train": Collection(
        name="train", first_seed=0, end_seed=10_000_000, purpose="models and normalisers are fitted", trainable=True
    ),
    "dev": Collection(name="dev", first_seed=10_000_000, end_seed=20_000_000, purpose="choices are made"),
    "test": Collection(name="test", first_seed=20_000_000, end_seed=30_000_000, purpose="results are reported"),
}


def collection(name: str) -> Collection:
    """The collection of that name."""
    if name not in COLLECTIONS:
        raise DataError(f"There is no collection {name!r}. {did_you_mean(name, COLLECTIONS)}")
    return COLLECTIONS[name]


def collection_of(seed: int) -> str | None:
    """Name of the collection a behaviour seed belongs to; None if it belongs to none."""
    return next((c.name for c in COLLECTIONS.values() if c.first_seed <= seed < c.end_seed), None)


def first_seed(name: str, offset: int, episodes: int) -> int:
    """Seed of episode 0 of `episodes` in a collection, `offset` seeds into its range; refuses to leave the range."""
    chosen = collection(name)
    first = chosen.first_seed + offset
    if offset < 0 or episodes < 1 or first + episodes > chosen.end_seed:
        raise DataError(
            f"The collection {name!r} owns the seeds {chosen.first_seed:,} to {chosen.end_seed - 1:,}, and "
            f"{episodes:,} episodes from its seed number {offset:,} on do not fit. Ask for at least one "
            f"episode, and choose --seed between 0 and {chosen.end_seed - chosen.first_seed - max(episodes, 1):,}."
        )
    return first
