"""Which episodes train and which are held out. Always by episode: windows follow their episode."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch

from dualwm.errors import DataError

RELEASE_RULE = "release: torch.randperm, seed 42, first 90 %"
RELEASE_SEED = 42
RELEASE_PERCENT = 90


@dataclass(frozen=True, kw_only=True)
class Split:
    """Episode ids of one data set in two disjoint parts, each in ascending order."""

    rule: str
    """How it was made, in words."""
    store_digest: str
    """Digest of the data set it speaks of."""
    train: tuple[int, ...]
    heldout: tuple[int, ...]

    def __post_init__(self) -> None:
        counts = Counter(self.train + self.heldout)
        twice = [episode for episode, count in counts.items() if count > 1]
        if twice:
            raise DataError(
                f"A split ({self.rule}) should name every episode at most once, and episodes {twice[:5]} stand in it "
                "twice. Make the split again; do not edit it by hand."
            )

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON."""
        return hashlib.sha256(json.dumps(self.to_plain(), sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    def to_plain(self) -> dict[str, Any]:
        """Plain data for a System folder's `split.json`."""
        return json.loads(json.dumps(asdict(self)))

    @staticmethod
    def from_plain(data: Mapping[str, Any], where: str) -> "Split":
        """The split of plain data; anything else is an error naming `where`."""
        try:
            return Split(
                rule=str(data["rule"]),
                store_digest=str(data["store_digest"]),
                train=tuple(int(i) for i in data["train"]),
                heldout=tuple(int(i) for i in data["heldout"]),
            )
        except (KeyError, TypeError, ValueError) as problem:
            raise DataError(
                f"{where} should hold a split (rule, store_digest, train, heldout) and does not ({problem!r}). "
                "Copy the file again from its source."
            ) from problem


def release_split(episodes: int, store_digest: str) -> Split:
    """Nine to one (Appendix D), by the release's rule: a random order of the ids from seed 42, its first 90 % train."""
    shuffled = torch.randperm(episodes, generator=torch.Generator().manual_seed(RELEASE_SEED))
    order: list[int] = shuffled.numpy().tolist()
    count = episodes * RELEASE_PERCENT // 100
    if not 0 < count < episodes:
        raise DataError(
            f"A split needs at least 2 episodes, one to train on and one to hold out, and the data set has {episodes}. "
            "Collect or import more episodes."
        )
    train, heldout = sorted(order[:count]), sorted(order[count:])
    return Split(rule=RELEASE_RULE, store_digest=store_digest, train=tuple(train), heldout=tuple(heldout))
