"""What another program sends is read to a bound in bytes and in time."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from kitpick_foundation.bounded import MoreThanBound, read_bounded


def pieces(*given: bytes) -> Callable[[], bytes]:
    left = list(given)
    return lambda: left.pop(0) if left else b""


def test_all_of_it_is_read_up_to_the_bound() -> None:
    assert read_bounded(pieces(b"ab", b"c"), 3) == b"abc"
    assert read_bounded(pieces(), 0) == b""


@pytest.mark.parametrize("given", [(b"ab", b"cd"), (b"abcd",), (b"abc", b"d", b"never read")])
def test_one_byte_more_is_refused(given: tuple[bytes, ...]) -> None:
    with pytest.raises(MoreThanBound, match="more than 3 bytes"):
        read_bounded(pieces(*given), 3)


def test_what_never_ends_is_given_up() -> None:
    with pytest.raises(TimeoutError):
        read_bounded(lambda: b"a", 2**62, -math.inf)
