"""Compares what a source yields with what the index holds: what to write, to delete and to leave alone."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from toolrank_engines.document import ApiDocument, decode_document, encode_document, validate_document
from toolrank_engines.errors import InvalidDocument
from toolrank_ingest.dead_letters import DeadLetterFile, duplicate_letter, invalid_letter
from toolrank_ingest.errors import SuspiciousShrink
from toolrank_ingest.progress import Advance
from toolrank_ingest.reading import Item
from toolrank_ingest.source import DeadLetter
from toolrank_ingest.spool import Spool


@dataclass
class Plan:
    """Numbers of documents; the documents themselves are in the spool."""

    held: int = 0
    """In the index before."""
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    gone: int = 0
    """In the index, and not in the source any more."""

    @property
    def written(self) -> int:
        """Documents that need a vector and must be written."""
        return self.added + self.changed

    @property
    def is_empty(self) -> bool:
        """Whether the index is as it should be."""
        return self.written == 0 and self.gone == 0


class Planner:
    """Fills a spool and counts.

    The first document of an id counts. One that no engine can hold leaves the version that is held as it is.
    """

    def __init__(self, source: str, spool: Spool, letters: DeadLetterFile) -> None:
        self.plan = Plan()
        self._source = source
        self._spool = spool
        self._letters = letters

    def hold(self, hashes: Iterable[tuple[str, str]]) -> None:
        """First: what the index holds of the source, pairs (id, content hash)."""
        self.plan.held = self._spool.hold(hashes)

    def read(self, items: Iterable[Item], advance: Advance) -> None:
        """Then: what the source yields."""
        for number, item in enumerate(items, 1):
            if isinstance(item, DeadLetter):
                self._letters.add(item)
            else:
                self._place(number, item)
            advance(1)
        self.plan.gone = self._spool.count_gone()

    def _place(self, number: int, document: ApiDocument) -> None:
        try:
            if self._spool.confirm(document.id, _checked(document).content_hash):
                self.plan.unchanged += 1
            else:
                self._place_other(number, _readable(document))
        except InvalidDocument as error:
            self._letters.add(invalid_letter(self._source, number, document, error))
            with suppress(UnicodeEncodeError):  # an id without a UTF-8 form is not held
                self._spool.keep(document.id)

    def _place_other(self, number: int, document: ApiDocument) -> None:
        known = self._spool.find(document.id)
        if known.seen:
            self._letters.add(duplicate_letter(self._source, number, document))
            return
        self._spool.write(document)
        if known.held is None:
            self.plan.added += 1
        else:
            self.plan.changed += 1


def _checked(document: ApiDocument) -> ApiDocument:
    """The document, if an engine can hold it.

    Raises:
        InvalidDocument: it cannot.
    """
    try:
        return validate_document(document)
    except (AttributeError, TypeError) as error:
        raise InvalidDocument(str(document.id), f"a field has the wrong type: {error}") from error


def _readable(document: ApiDocument) -> ApiDocument:
    """The document, if it can be read again once it is written.

    Raises:
        InvalidDocument: a field has the wrong type, which a source in Python can do.
    """
    try:
        return decode_document(encode_document(document))
    except msgspec.ValidationError as error:
        raise InvalidDocument(document.id, f"a field has the wrong type: {error}") from error


def refuse_shrink(plan: Plan, source: str) -> None:
    """Stops a source that lost more than half of its documents, or all of them.

    Raises:
        SuspiciousShrink: says how many are gone; nothing has been changed.
    """
    if 2 * plan.gone > plan.held:
        raise SuspiciousShrink(
            f"{source}: {plan.gone:,} of {plan.held:,} documents are gone from the source; nothing was "
            "changed: look at the source and the dead letters; if it is right, allow the source to shrink"
        )
