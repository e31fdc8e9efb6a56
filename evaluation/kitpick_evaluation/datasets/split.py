"""Splits a catalog: holds out whole providers, fields or commands, by a hash of their name.

Training and the battery use the same function, so no request of the battery was trained on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Literal

Split = Literal["train", "validation", "test"]

HOLDOUT = 0.1
"""Share of the groups in the test split, and again in the validation split."""


def split_of(group: str, holdout: float = HOLDOUT) -> Split:
    """The split of a group: stable across runs, machines and growth of the data.

    Args:
        group: name of what is held out as a whole; case does not matter.
        holdout: share of groups in the test split, and in the validation split, in (0, 0.5).
    """
    digest = hashlib.blake2b(group.lower().encode("utf-8", "surrogatepass"), digest_size=8).digest()
    place = int.from_bytes(digest, "big") / 2**64
    if place < holdout:
        return "test"
    return "validation" if place < 2 * holdout else "train"


def split_of_request(groups: Iterable[str], holdout: float = HOLDOUT) -> Split:
    """The split of a request that needs these groups: the most restricted of their splits.

    Training takes a request only where all of its groups are of the split `train`.
    """
    splits = {split_of(group, holdout) for group in groups}
    if "test" in splits:
        return "test"
    return "validation" if "validation" in splits else "train"
