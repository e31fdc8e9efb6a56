"""The root of all errors of this software, the kinds of failure, and suggestions for misspelt names."""

from __future__ import annotations

import difflib
import enum
from collections.abc import Iterable, Mapping
from itertools import islice


class FailureKind(enum.Enum):
    """Kinds of failure. The command line maps them to exit codes, the service to HTTP status."""

    INPUT = "input"
    """A source, catalog, profile, dataset or request that cannot be used as it is."""
    SETTING = "setting"
    """A setting that is not valid."""
    UNAVAILABLE = "unavailable"
    """An engine, model or optional package that is missing or broken."""
    REFUSED = "refused"
    """Stopped to protect what is stored."""


class KitpickError(Exception):
    """Base of every error that this software raises on purpose. Its text says what, where and the cure."""

    failure = FailureKind.INPUT


class InvalidSetting(KitpickError):
    """A setting that is not known, or a value that it does not take; says where it comes from."""

    failure = FailureKind.SETTING


class MissingExtra(KitpickError, ImportError):
    """An optional dependency is not installed, or too old; the text holds the install line.

    Args:
        extra: its name, as in `pip install 'kitpick[EXTRA]'`; of pipx or uv where they installed it.
        purpose: what needs it, as the subject of a sentence.
        reason: what exactly is missing, where the import said more than that.
    """

    failure = FailureKind.UNAVAILABLE

    def __init__(self, extra: str, purpose: str, reason: str = "") -> None:
        from kitpick_foundation.installation import install_line  # no search that works needs it

        cure = install_line(extra, upgrade=bool(reason))
        super().__init__(f"{purpose} needs the extra {extra!r}: {cure}" + (f" ({reason})" if reason else ""))
        self.extra = extra


_LISTED = 8
"""How many known names are listed where none is near; more of them help nobody."""
LOOKED_AT = 20_000
"""How many known names are compared with an unknown one, or read for it: more would take too long."""


def suggestion(name: str, known: Iterable[str], also: Mapping[str, str] | None = None) -> str:
    """A sentence for an unknown name: up to three similar names, else the first known ones.

    Args:
        name: what somebody wrote; case does not matter.
        known: the names that there are; of more than `LOOKED_AT`, those that come first.
        also: other ways to write a known name → that name.

    Returns:
        The end of a sentence, empty where nothing is known.
    """
    names = list(dict.fromkeys(islice(known, LOOKED_AT)))
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


def in_brief(error: BaseException) -> str:
    """What an exception of another library says, on one line, at most 200 characters."""
    return " ".join(str(error).split())[:200]
