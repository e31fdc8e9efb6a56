"""Ids that somebody names: one that no API has is refused, with the nearest that there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from kitpick_engines.contract import Engine, Filter
from kitpick_foundation.errors import LOOKED_AT, KitpickError, suggestion


class UnknownIds(KitpickError):
    """Ids that no API has, as far as whoever names them may know."""

    def __init__(self, unknown: Sequence[str], known: Iterable[str]) -> None:
        more = f" (nor {len(unknown) - 1:,} more ids)" if len(unknown) > 1 else ""
        hint = suggestion(unknown[0], known) or "there is none"
        super().__init__(f"no API of the catalog has the id {unknown[0][:200]!r}{more}: {hint}")


def require_known(engine: Engine, ids: Iterable[str]) -> None:
    """Refuses ids of no document, for the operator, who may know all of them.

    Raises:
        UnknownIds: some are.
    """
    named = list(dict.fromkeys(ids))
    found = {document.id for document in engine.fetch(named, Filter())}
    live = engine.live()
    if set(named) <= found or live is None:
        return
    known = {key for key, _ in engine.hashes(live[0])}
    if unknown := [each for each in named if each not in known]:
        raise UnknownIds(unknown, sorted(known))


def require_visible(engine: Engine, ids: Iterable[str], permitted: Filter) -> None:
    """Refuses ids of no document that a caller may see; what they may not see is not suggested either.

    Raises:
        UnknownIds: some are.
    """
    named = list(dict.fromkeys(ids))
    found = {document.id for document in engine.fetch(named, permitted)}
    if unknown := [each for each in named if each not in found]:
        live = engine.live()
        keys = [] if live is None else [key for key, _ in islice(engine.hashes(live[0]), LOOKED_AT)]
        raise UnknownIds(unknown, [document.id for document in engine.fetch(keys, permitted)])
