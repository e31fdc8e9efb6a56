"""Compares what a source yields with what the index holds: what to write, to delete and to leave alone."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from kitpick_engines.contract import RestrictedDocument
from kitpick_engines.document import ApiDocument, decode_document, encode_document, valid_content_hash
from kitpick_engines.errors import InvalidDocument
from kitpick_ingest.dead_letters import DeadLetterFile
from kitpick_ingest.entries import Converted
from kitpick_ingest.errors import SuspiciousShrink, WouldBePublic
from kitpick_ingest.progress import Advance
from kitpick_ingest.source import DeadLetter
from kitpick_ingest.spool import Spool

_TOGETHER = 64
"""Documents compared with the index at once: each question to the spool costs a change of threads."""


@dataclass
class SyncPlan:
    """Numbers of documents; the documents themselves are in the spool."""

    held: int = 0
    """Documents in the index before the run."""
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    gone: int = 0
    """Documents in the index that the source does not hold any more."""
    widened: int = 0
    """Changed documents whose permissions are wider than before."""
    first_widened: str = ""
    """Id of one of them."""

    @property
    def written(self) -> int:
        """Documents that need a vector and must be written."""
        return self.added + self.changed

    @property
    def is_empty(self) -> bool:
        """Whether the index is as it should be."""
        return self.written == 0 and self.gone == 0


class _Waiting(NamedTuple):
    """A document that is not yet compared with the index."""

    number: int
    document: ApiDocument
    content_hash: str


class Planner:
    """Fills a spool, and counts the documents.

    The first document of an id counts. One that no engine can hold leaves the version that is held as it is.
    """

    def __init__(self, source: str, spool: Spool, letters: DeadLetterFile) -> None:
        self.plan = SyncPlan()
        self._source = source
        self._spool = spool
        self._letters = letters
        self._waiting: list[_Waiting] = []

    def hold(self, hashes: Iterable[tuple[str, str]], restricted: Iterable[RestrictedDocument]) -> None:
        """First step: the documents in the index, as pairs (id, content hash), and the restricted ones."""
        self.plan.held = self._spool.hold(hashes)
        self._spool.restrict(restricted)

    def read(self, items: Iterable[Converted], advance: Advance) -> None:
        """Second step: the documents of the source."""
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
            reason = "duplicate id: the first document of this id was kept"
            self._leave_out(number, document, reason, document.description)
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
            if known.is_widened_by(document):
                self.plan.widened += 1
                self.plan.first_widened = self.plan.first_widened or document.id

    def _refuse(self, number: int, document: ApiDocument, error: InvalidDocument) -> None:
        self._leave_out(number, document, error.reason, str(document.description))  # whatever its type
        with suppress(UnicodeEncodeError):  # an id without a UTF-8 form is not held
            self._spool.keep(document.id)

    def _leave_out(self, number: int, document: ApiDocument, reason: str, excerpt: str) -> None:
        position = f"document {number}: {document.id}"
        self._letters.add(DeadLetter(self._source, position, reason, excerpt))


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
    """The document, if it can be decoded again after encoding.

    Raises:
        InvalidDocument: a field has the wrong type, which a source in Python can do.
    """
    try:
        return decode_document(encode_document(document))
    except msgspec.ValidationError as error:
        raise InvalidDocument(document.id, f"a field has the wrong type: {error}") from error


def refuse_shrink(plan: SyncPlan, source: str) -> None:
    """Stops a source that lost more than half of its documents, or all of them.

    Raises:
        SuspiciousShrink: says how many are gone; nothing has been changed.
    """
    if 2 * plan.gone > plan.held:
        raise SuspiciousShrink(
            f"{source}: {plan.gone:,} of {plan.held:,} documents are gone from the source; nothing was "
            "changed: look at the source and the dead letters; if it is right, allow the source to shrink "
            "(--allow-shrink; in Python SyncOptions(allow_shrink=True)); if these are further APIs, ingest "
            "them under a name of their own (--name)"
        )


def refuse_publication(plan: SyncPlan, source: str) -> None:
    """Stops a source that would make restricted documents public.

    Raises:
        WouldBePublic: says how many documents it concerns; nothing has been changed.
    """
    if plan.widened:
        raise WouldBePublic(
            f"{source}: {plan.widened:,} documents that only a tenant or some principals may see, as "
            f"{plan.first_widened[:200]!r}, would become visible to others; nothing was changed: name tenant "
            "and principals as at the last ingest (--tenant, --allow), or say that it is meant (--public)"
        )
