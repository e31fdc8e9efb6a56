"""The lock file: digests of the definitions that somebody approved, and what a source changed since.

A tool's description is read by a model as if the operator had written it. A server that was harmless when it
was approved can change it later. The lock file notices: it holds three digests for each API, of its
description, of its category, and of everything else that a model may come to read.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec.structs import replace

from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument
from kitpick_foundation.decoding import UNDECODABLE, decode_as
from kitpick_ingest.errors import InvalidLockFile
from kitpick_ingest.source import DeadLetter

Difference = Literal["new", "description", "definition"]
"""What is not as approved: the API is unknown; its description is another one; something else of it is."""
Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
_FORMAT: Literal[2] = 2
_OLDER = b'"format": 1,'
_PLAIN_VERSION = re.compile(
    r"v?\d{1,10}([.\-_]\d{1,10}){0,5}([.\-]?(a|b|rc|alpha|beta|dev|post|pre|preview)[.\-]?\d{0,9})?"
)
"""A version that says nothing but which one it is: a server may count it up without asking anybody."""
_TOGETHER = 64
"""Documents compared at once: the approved versions of those that changed are fetched in one round trip."""


_LEFT_OUT = ("id", "source", "tenant", "allowed", "purpose")


class Approved(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """SHA-256, in hexadecimal, of what was approved of one API."""

    description: Digest
    definition: Digest
    """Digest of all else that a model or a client may see: name, schemas, examples, effect, version."""
    category: Digest
    """Digest of the category that its source gives it."""

    @classmethod
    def of(cls, document: ApiDocument) -> Approved:
        """The digests of a document.

        Left out are its place (id, source), the labels of the operator (tenant, principals), a version that
        is a plain number, and its purpose, which is concluded from all tools of its source and not shown.

        Raises:
            TypeError, UnicodeEncodeError: a field has the wrong type, or no form in UTF-8.
        """
        rest = msgspec.to_builtins(document)
        for field in _LEFT_OUT:
            rest.pop(field, None)
        if _is_plain(document.version):
            rest.pop("version", None)
        description, category = rest.pop("description", ""), rest.pop("category", "")
        return cls(_digest(description), _digest(rest), _digest(category))


class Unapproved(msgspec.Struct, frozen=True):
    """An API that a source gave in another form than the approved one."""

    id: str
    difference: Difference
    held_back: bool
    """Whether it was kept out of the catalog."""


class Approvals(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a lock file: digests by source and by id."""

    format: Literal[2]
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
            content = path.read_bytes()
            return decode_as(content, cls)
        except OSError as error:
            raise InvalidLockFile(path, error.strerror or str(error)) from error
        except UNDECODABLE as error:
            older = (
                "it is of an earlier version, which let categories and versions through; "
                if _OLDER in content
                else ""
            )
            raise InvalidLockFile(path, older + str(error)) from error

    def encode(self) -> bytes:
        """The lock file: in a fixed order, a digest a line, so that versions can be compared."""
        return msgspec.json.format(msgspec.json.encode(self, order="sorted"), indent=1) + b"\n"

    def over(self, older: Approvals) -> Approvals:
        """These approvals, and the older ones of other sources."""
        return replace(self, sources=older.sources | self.sources)

    def difference(self, document: ApiDocument, category: str = "") -> Difference | None:
        """The part of a document that is not as approved, None where all is.

        Args:
            document: as a source gives it.
            category: the one that the operator gives all documents of the source, which needs no approval.

        Raises:
            TypeError, UnicodeEncodeError: as `Approved.of`.
        """
        approved = self.sources.get(document.source, {}).get(document.id)
        if approved is None:
            return "new"
        found = Approved.of(document)
        if found.description != approved.description:
            return "description"
        if found.definition != approved.definition:
            return "definition"
        own = document.category in ("", category)
        return None if own or found.category == approved.category else "definition"


Fetch = Callable[[Sequence[str], Filter], Sequence[ApiDocument]]
"""Reads documents from the catalog: those of the ids that the filter lets see."""


class ApprovalCheck:
    """Compares what a source yields with what was approved, and names the differences.

    Where they are held back, what is not as approved does not come through: in place of a changed API comes
    the approved version that the catalog holds, with the labels of today. Where the catalog does not hold it,
    or holds it for others than it is meant for now, the API is left out.
    """

    def __init__(self, approvals: Approvals, stored: Fetch | None, category: str = "") -> None:
        """Takes how approved versions are fetched (None: all comes through), and the operator's category."""
        self._approvals = approvals
        self._stored = stored
        self._category = category
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
                    yield self._relabelled(approved[refused.id], refused)

    def _refused(self, item: ApiDocument | DeadLetter) -> ApiDocument | None:
        """The item where it is a document that is not as approved; its difference is kept for the report."""
        if isinstance(item, DeadLetter):
            return None
        try:
            difference = self._approvals.difference(item, self._category)
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
        return {held.id: held for held in found if self._approvals.difference(held, held.category) is None}

    def _relabelled(self, held: ApiDocument, given: ApiDocument) -> ApiDocument:
        """The held version, for the people of the given one, under today's category of the operator."""
        own = given.category in ("", self._category)
        return replace(
            held,
            category=given.category if own else held.category,
            tenant=given.tenant,
            allowed=given.allowed,
            version=given.version if _is_plain(given.version) else held.version,
        )


def _is_plain(version: str) -> bool:
    return not version or _PLAIN_VERSION.fullmatch(version) is not None


def _digest(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()
