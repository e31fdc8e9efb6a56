"""How many values JSON holds, without decoding it."""

from __future__ import annotations

import numpy as np

_MARKS = b",[{"
_FEW = 10_000


def count_values(body: bytes) -> int:
    """At most so many strings, numbers, lists and objects are in the body, give or take one.

    A value follows a comma or begins a list or an object. Marks inside of strings count while there are few;
    where that could matter, strings are told apart. Linear in time, whatever the body holds.
    """
    marks = sum(body.count(mark) for mark in _MARKS)
    if marks <= _FEW:
        return marks
    # Without escapes, every other quote ends a string. Outside of strings there are none in JSON.
    plain = np.frombuffer(body.replace(b"\\\\", b"").replace(b'\\"', b""), np.uint8)
    inside = np.logical_xor.accumulate(plain == ord('"'))
    return int(sum(np.count_nonzero((plain == mark) & ~inside) for mark in _MARKS))
