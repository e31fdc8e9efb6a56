"""How long a sweep is: short wherever somebody waits for it, long for a release.

`scripts/test --release` sets KITPICK_TEST_SIZE=release. Tests that ask for a size are marked `sweep`; those
of Hypothesis are found by its own mark.
"""

from __future__ import annotations

import os

LARGE = os.environ.get("KITPICK_TEST_SIZE") == "release"


def sized(variable: str, small: float, large: float) -> float:
    """What an environment variable says, by default one of these two."""
    given = os.environ.get(variable)
    return float(given) if given else large if LARGE else small


def examples(large: int) -> int:
    """Examples of Hypothesis that a test tries: a quarter of what a release tries, twenty at least."""
    return large if LARGE else min(large, max(20, large // 4))
