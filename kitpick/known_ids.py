"""Checks ids that a caller names: an id that no API has is refused, and the message names the nearest.

The refusal is `UnknownIds`. An encoder finds what is near; one that cannot be loaded is a `ModelError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np
from msgspec.structs import replace

from kitpick_engines.contract import Engine, Filter
from kitpick_foundation.errors import LOOKED_AT, KitpickError, suggestion
from kitpick_rescorers.contracts import QueryEncoder

_NEAR = 200
"""Visible APIs of a tool, and of the whole catalog, among which a suggestion for a caller is looked for."""
_MOST_READ = 200
"""Characters of an unknown id that are read, and shown."""
_SIGNS = re.compile(r"[\W_]+")


class UnknownIds(KitpickError):
    """Ids that no API has, as far as the caller may know."""

    def __init__(self, unknown: Sequence[str], known: Iterable[str]) -> None:
        more = f" (nor {len(unknown) - 1:,} more ids)" if len(unknown) > 1 else ""
        first, hint = unknown[0][:_MOST_READ], _hint(unknown[0], known)
        super().__init__(f"no API of the catalog has the id {first!r}{more}: {hint or 'there is none'}")


def require_known(engine: Engine, ids: Iterable[str]) -> None:
    """Refuses ids of no document, for the operator, who may know all of them."""
    named = list(dict.fromkeys(ids))
    found = {document.id for document in engine.fetch(named, Filter())}
    live = engine.live()
    if set(named) <= found or live is None:
        return
    known = {key for key, _ in engine.hashes(live[0])}
    if unknown := [each for each in named if each not in known]:
        raise UnknownIds(unknown, sorted(known))


def require_visible(engine: Engine, encoder: QueryEncoder, ids: Iterable[str], permitted: Filter) -> None:
    """Refuses ids of no document that a caller may see; what they may not see is not suggested either."""
    named = list(dict.fromkeys(ids))
    found = {document.id for document in engine.fetch(named, permitted)}
    if unknown := [each for each in named if each not in found]:
        raise UnknownIds(unknown, _near(engine, encoder, unknown[0], permitted))


def nearest(engine: Engine, encoder: QueryEncoder, unknown: str, permitted: Filter) -> str:
    """What a caller may have meant by an id under which they see nothing: a sentence, or nothing."""
    return _hint(unknown, _near(engine, encoder, unknown, permitted))


def _hint(unknown: str, known: Iterable[str]) -> str:
    names = list(islice(known, LOOKED_AT))
    return suggestion(unknown[:_MOST_READ], names, {name.rpartition("/")[2]: name for name in names})


def _near(engine: Engine, encoder: QueryEncoder, unknown: str, permitted: Filter) -> list[str]:
    """Ids that a caller may see: of the tool that an unknown id names, and those near to its words."""
    live = engine.live()
    if live is None:
        return []
    (vector,) = encoder.vectors((_SIGNS.sub(" ", unknown[:_MOST_READ]),))
    if len(vector) != live[1].dimensions:
        vector = np.full(live[1].dimensions, live[1].dimensions ** -0.5, np.float32)
    tool = unknown[:_MOST_READ].rpartition("/")[0]
    of_tool = [] if permitted.tools or not tool else [replace(permitted, tools=frozenset({tool}))]
    return [each.id for seen in (*of_tool, permitted) for each in engine.neighbours(vector, _NEAR, seen)]
