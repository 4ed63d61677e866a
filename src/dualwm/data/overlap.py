"""Episodes that stand in two places where they should stand in one: told by seed and by content."""

from collections import Counter
from collections.abc import Iterator, Sequence

from dualwm.data.collections import COLLECTIONS, collection_of
from dualwm.data.findings import Finding, error, note, some, warning
from dualwm.data.schema import stored
from dualwm.data.store import Store


def seeds(store: Store) -> Iterator[Finding]:
    """A seed twice, or one that belongs to another collection."""
    known = [entry.seed for entry in store.entries if entry.seed >= 0]
    twice = [seed for seed, count in Counter(known).items() if count > 1]
    if twice:
        yield warning("seeds", f"{len(twice)} seeds stand for several episodes ({some(twice)}).", seeds=len(twice))
    name = store.meta.collection
    foreign = [seed for seed in known if name in COLLECTIONS and collection_of(seed) != name]
    if foreign:
        yield error(
            "seeds",
            f"This is the collection {name!r}, and {len(foreign)} of its seeds belong to another one "
            f"({some(foreign)}). Collect it again with `--collection {name}`.",
            seeds=len(foreign),
        )


def duplicates(store: Store) -> Iterator[Finding]:
    """Episodes that are exact copies of others in the same data set."""
    names = [spec.name for spec in stored(store.meta.columns)]
    copies = [n for n in Counter(_identities(store, names)).values() if n > 1]
    if copies:
        yield warning(
            "duplicates",
            f"{sum(copies) - len(copies)} episodes are exact copies of others in this data set. A split may put a copy "
            "on either side: remove them from the source and import again.",
            episodes=sum(copies) - len(copies),
        )


def leakage(store: Store, other: Store) -> Iterator[Finding]:
    """Episodes that stand in both data sets, told by seed and by content."""
    both = {entry.seed for entry in store.entries if entry.seed >= 0} & {entry.seed for entry in other.entries}
    same_episodes = bool(both) and store.meta.world == other.meta.world
    if same_episodes:
        yield error(
            "leakage",
            f"{len(both)} seeds stand in both {store.path} and {other.path} ({some(sorted(both))}): the same "
            "behaviour episodes. Collect one of them with another --collection or --seed.",
            seeds=len(both),
        )
    shared = sorted(_telling(store) & _telling(other))
    theirs = set(_identities(other, shared))
    same = [i for i, one in enumerate(_identities(store, shared)) if one in theirs] if shared else []
    if same:
        yield error(
            "leakage",
            f"{len(same)} episodes have the same content in {store.path} and {other.path} ({some(same)}), compared "
            f"over {', '.join(shared)}. Remove them from one of the two.",
            episodes=len(same),
        )
    elif not same_episodes:
        basis = f"seed and content of {', '.join(shared)}" if shared else "seed only: they share no stored column"
        yield note("leakage", f"No episode stands in both {store.path} and {other.path}, compared by {basis}.")


def _telling(store: Store) -> set[str]:
    """Columns whose content tells episodes apart; a shared column of flags would not."""
    return {spec.name for spec in stored(store.meta.columns) if spec.role != "aux"}


def _identities(store: Store, names: Sequence[str]) -> list[tuple[str, ...]]:
    """What each episode's content is known by, over some columns."""
    return [tuple(entry.checksums[name] for name in names) for entry in store.entries]
