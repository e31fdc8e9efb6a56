"""Compares what a source yields with what the index holds: what to write, to delete and to leave alone."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from toolrank_engines.document import ApiDocument, decode_document, encode_document, valid_content_hash
from toolrank_engines.errors import InvalidDocument
from toolrank_ingest.dead_letters import DeadLetterFile, duplicate_letter, invalid_letter
from toolrank_ingest.errors import SuspiciousShrink
from toolrank_ingest.progress import Advance
from toolrank_ingest.reading import Item
from toolrank_ingest.source import DeadLetter
from toolrank_ingest.spool import Spool

_TOGETHER = 64
"""Documents compared with the index at once: each question to the spool costs a change of threads."""


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


class _Waiting(NamedTuple):
    """A document whose comparison with the index is still to come."""

    number: int
    document: ApiDocument
    content_hash: str


class Planner:
    """Fills a spool and counts.

    The first document of an id counts. One that no engine can hold leaves the version that is held as it is.
    """

    def __init__(self, source: str, spool: Spool, letters: DeadLetterFile) -> None:
        self.plan = Plan()
        self._source = source
        self._spool = spool
        self._letters = letters
        self._waiting: list[_Waiting] = []

    def hold(self, hashes: Iterable[tuple[str, str]]) -> None:
        """First: what the index holds of the source, pairs (id, content hash)."""
        self.plan.held = self._spool.hold(hashes)

    def read(self, items: Iterable[Item], advance: Advance) -> None:
        """Then: what the source yields."""
        for number, item in enumerate(items, 1):
            if isinstance(item, DeadLetter):
                self._letters.add(item)
            else:
                self._take(number, item)
            advance(1)
        self._place_waiting()
        self.plan.gone = self._spool.count_gone()

    def _take(self, number: int, document: ApiDocument) -> None:
        try:
            self._waiting.append(_Waiting(number, document, _checked_hash(document)))
        except InvalidDocument as error:
            self._place_waiting()  # in order: of two documents with one id the first counts
            self._refuse(number, document, error)
        if len(self._waiting) >= _TOGETHER:
            self._place_waiting()

    def _place_waiting(self) -> None:
        unchanged = self._spool.confirm([(item.document.id, item.content_hash) for item in self._waiting])
        for item, same in zip(self._waiting, unchanged, strict=True):
            if same:
                self.plan.unchanged += 1
            else:
                self._place_other(item.number, item.document)
        self._waiting.clear()

    def _place_other(self, number: int, document: ApiDocument) -> None:
        known = self._spool.find(document.id)
        if known.seen:
            self._letters.add(duplicate_letter(self._source, number, document))
            return
        try:
            self._spool.write(_readable(document))
        except InvalidDocument as error:
            self._refuse(number, document, error)
            return
        if known.held is None:
            self.plan.added += 1
        else:
            self.plan.changed += 1

    def _refuse(self, number: int, document: ApiDocument, error: InvalidDocument) -> None:
        self._letters.add(invalid_letter(self._source, number, document, error))
        with suppress(UnicodeEncodeError):  # an id without a UTF-8 form is not held
            self._spool.keep(document.id)


def _checked_hash(document: ApiDocument) -> str:
    """Content hash of a document that an engine can hold.

    Raises:
        InvalidDocument: it cannot.
    """
    try:
        return valid_content_hash(document)
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
