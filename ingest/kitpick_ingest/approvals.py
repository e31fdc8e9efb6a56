"""The lock file: digests of the definitions that somebody approved, and what a source changed since.

A tool's description is read by a model as if the operator had written it. A server that was harmless when it
was approved can change it later. The lock file notices: it holds two digests for each API, of its description
and of the rest of its definition.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec.structs import replace

from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument
from kitpick_foundation.decoding import UNDECODABLE
from kitpick_ingest.errors import InvalidLockFile
from kitpick_ingest.source import DeadLetter

Difference = Literal["new", "description", "definition"]
"""What is not as approved: the API is unknown; its description is another one; something else of it is."""
Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
_FORMAT: Literal[1] = 1
_TOGETHER = 64
"""Documents compared at once: the approved versions of those that changed are fetched in one round trip."""


class Approved(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """SHA-256, in hexadecimal, of what was approved of one API."""

    description: Digest
    definition: Digest
    """Of everything else that a model or a client may come to see: name, schemas, examples, effect."""

    @classmethod
    def of(cls, document: ApiDocument) -> Approved:
        """The digests of a document.

        Left out are its place (id, source, category), the labels of the operator (tenant, principals), the
        version of its server, and what is concluded from the rest (needs, gives).

        Raises:
            TypeError, UnicodeEncodeError: a field has the wrong type, or no form in UTF-8.
        """
        rest = msgspec.to_builtins(document)
        for field in ("id", "source", "category", "tenant", "allowed", "version", "needs", "gives"):
            rest.pop(field, None)
        return cls(_digest(rest.pop("description", "")), _digest(rest))


class Unapproved(msgspec.Struct, frozen=True):
    """An API that a source gave in another form than the approved one."""

    id: str
    difference: Difference
    held_back: bool
    """Whether it was kept out of the catalog."""


class Approvals(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a lock file: digests by source and by id."""

    format: Literal[1]
    sources: dict[str, dict[str, Approved]]

    @classmethod
    def of(cls, documents: Iterable[ApiDocument]) -> Approvals:
        """The approval of these documents, as they are."""
        sources: defaultdict[str, dict[str, Approved]] = defaultdict(dict)
        for document in documents:
            sources[document.source].setdefault(document.id, Approved.of(document))  # the first one counts
        return cls(_FORMAT, dict(sources))

    @classmethod
    def read(cls, path: Path) -> Approvals:
        """The content of a lock file.

        Raises:
            InvalidLockFile: it cannot be read, or is not whole.
        """
        try:
            return msgspec.json.decode(path.read_bytes(), type=cls)
        except OSError as error:
            raise InvalidLockFile(path, error.strerror or str(error)) from error
        except UNDECODABLE as error:
            raise InvalidLockFile(path, str(error)) from error

    def encode(self) -> bytes:
        """The lock file: in a fixed order, a digest a line, so that versions can be compared."""
        return msgspec.json.format(msgspec.json.encode(self, order="sorted"), indent=1) + b"\n"

    def over(self, older: Approvals) -> Approvals:
        """These approvals, and the older ones of other sources."""
        return replace(self, sources=older.sources | self.sources)

    def difference(self, document: ApiDocument) -> Difference | None:
        """The part of a document that is not as approved, None where all is.

        Raises:
            TypeError, UnicodeEncodeError: as `Approved.of`.
        """
        approved = self.sources.get(document.source, {}).get(document.id)
        if approved is None:
            return "new"
        found = Approved.of(document)
        if found.description != approved.description:
            return "description"
        return None if found == approved else "definition"


Fetch = Callable[[Sequence[str], Filter], Sequence[ApiDocument]]
"""Reads documents from the catalog: those of the ids that the filter lets see."""


class ApprovalCheck:
    """Compares what a source yields with what was approved, and names the differences.

    Where they are held back, what is not as approved does not come through: in place of a changed API comes
    the approved version that the catalog holds, with the labels of today. Where the catalog does not hold it,
    or holds it for others than it is meant for now, the API is left out.
    """

    def __init__(self, approvals: Approvals, stored: Fetch | None) -> None:
        """Takes how approved versions are fetched; None lets everything through."""
        self._approvals = approvals
        self._stored = stored
        self.unapproved: list[Unapproved] = []

    def pass_on(self, items: Iterable[ApiDocument | DeadLetter]) -> Iterator[ApiDocument | DeadLetter]:
        """The items that may be taken in, in their order."""
        remaining = iter(items)
        while batch := list(islice(remaining, _TOGETHER)):
            judged = [(item, self._refused(item)) for item in batch]
            if self._stored is None:
                yield from batch
                continue
            approved = self._approved_versions([refused for _, refused in judged if refused], self._stored)
            for item, refused in judged:
                if refused is None:
                    yield item
                elif refused.id in approved:
                    yield _relabelled(approved[refused.id], refused)

    def _refused(self, item: ApiDocument | DeadLetter) -> ApiDocument | None:
        """The item where it is a document that is not as approved; its difference is kept for the report."""
        if isinstance(item, DeadLetter):
            return None
        try:
            difference = self._approvals.difference(item)
        except (TypeError, UnicodeEncodeError):
            return None  # no engine can hold it: the sync refuses it and says why
        if difference is None:
            return None
        self.unapproved.append(Unapproved(item.id, difference, self._stored is not None))
        return item

    def _approved_versions(self, changed: Sequence[ApiDocument], stored: Fetch) -> dict[str, ApiDocument]:
        """By id, the versions in the catalog that are as approved."""
        by_filter: defaultdict[Filter, list[str]] = defaultdict(list)
        for document in changed:
            whose = Filter(tenant=document.tenant, principals=frozenset(document.allowed))
            by_filter[whose].append(document.id)
        found = (held for whose, ids in by_filter.items() for held in stored(ids, whose))
        return {held.id: held for held in found if self._approvals.difference(held) is None}


def _relabelled(held: ApiDocument, given: ApiDocument) -> ApiDocument:
    """The held version, under the category and for the people of the given one."""
    return replace(
        held,
        category=given.category,
        tenant=given.tenant,
        allowed=given.allowed,
        version=given.version,
    )


def _digest(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()
