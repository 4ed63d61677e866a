"""What a data set holds, as plain data. Looks at the index only."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualwm.data.schema import row_file, span_file
from dualwm.data.store import Store


def describe(store: Store) -> dict[str, Any]:
    """What `dualwm data show` says, as plain data."""
    rows = store.rows
    return {
        "path": str(store.path),
        "schema": store.meta.schema,
        "world": store.meta.world,
        "collection": store.meta.collection,
        "episodes": len(store),
        "rows": store.total_rows,
        "bytes": store.bytes,
        "digest": store.digest,
        "columns": [
            {**column, "bytes": _column_bytes(store, column["name"])} for column in store.meta.to_plain()["columns"]
        ],
        "rows_per_episode": length_facts(rows) if len(rows) else {},
        "seeds": [int(store.seeds.min()), int(store.seeds.max())] if len(rows) else [],
        "sources": len({entry.source for entry in store.entries}),
        "law": dict(store.meta.law),
        "created": dict(store.meta.created),
    }


def _column_bytes(store: Store, name: str) -> int:
    """Bytes of a column's files in all shards."""
    files = (row_file(name), span_file(name))
    lasts = {entry.shard: entry.ends for entry in store.entries}
    return sum(end for ends in lasts.values() for file, end in ends.items() if file in files)


def length_facts(rows: NDArray[np.int64]) -> dict[str, Any]:
    """Smallest, median, largest and a histogram of at most 20 equal bins from the smallest to the largest."""
    bins = int(min(20, rows.max() - rows.min() + 1))
    counts, edges = np.histogram(rows, bins=bins)
    return {
        "min": int(rows.min()),
        "median": float(np.median(rows)),
        "max": int(rows.max()),
        "histogram": {"counts": counts.tolist(), "edges": edges.tolist()},
    }
