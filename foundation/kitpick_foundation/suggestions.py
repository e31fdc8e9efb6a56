"""Suggestions for misspelt names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

_LISTED = 8
"""So many known names are listed where none is near; more of them help nobody."""


def suggestion(name: str, known: Iterable[str], also: Mapping[str, str] | None = None) -> str:
    """A sentence for an unknown name: up to three similar names, else the first known ones.

    Args:
        name: what somebody wrote; case does not matter.
        known: the names that there are.
        also: other ways to write a known name → that name.

    Returns:
        The end of a sentence, empty where nothing is known.
    """
    names = list(dict.fromkeys(known))
    written = {item.casefold(): item for item in reversed(names)}
    for other, item in (also or {}).items():
        written.setdefault(other.casefold(), item)
    near = difflib.get_close_matches(name.casefold(), written, n=3)
    if near:
        found = dict.fromkeys(written[item] for item in near)
        return f"did you mean {' or '.join(repr(item) for item in found)}?"
    if not names:
        return ""
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return f"known are {', '.join(repr(item) for item in names[:_LISTED])}{more}"
