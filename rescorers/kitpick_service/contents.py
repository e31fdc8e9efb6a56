"""Remembers documents that callers sent, by the hash of their bytes.

A caller that searches a catalog brings the same documents again and again. So it sends their hashes, and in
full only those that are not known here. The hash is computed here, of the bytes that were sent, so nobody can
pass one content off as another. Each owner (a key, and a tenant of it) has documents of its own, so a hash
reveals nothing about those of others.
"""

from __future__ import annotations

import base64
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from kitpick_engines.remote.server import Json
from kitpick_foundation.decoding import UNDECODABLE, decode_as
from kitpick_service.body import decoded_bytes
from kitpick_service.errors import Invalid
from kitpick_service.ticket import Owner

_HASH_BYTES = 15
"""Of SHA-256, 120 bits. To find another content with the hash of a given one takes 2¹²⁰ tries, and among a
billion documents the chance that two have the same is below 10⁻¹⁸. Whoever makes 2⁶⁰ contents finds two of
their own with one hash: then one of these is ranked by the text of the other. Nobody else's is, because an
owner's documents are looked up for that owner alone."""
_HASH_DIGITS = _HASH_BYTES * 8 // 6
"""In base64. Callers may send more of them: those of 24 bytes begin with these."""
_LARGEST = 8
"""A content of more than one part in so many of the whole room is not kept."""


class Content(NamedTuple):
    """What was sent of a document, and about how many bytes it takes. It is never changed."""

    source: Json
    size: int


def hash_of(content: bytes) -> str:
    """The hash by which a content can be sent the next time."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()[:_HASH_BYTES]).decode()


class Contents:
    """Documents by owner and hash, the last ones, bounded by bytes. Safe to use from several threads.

    An owner with more than its part of the room makes room of its own documents, any other of those of the
    owner that was away for longest.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.bytes = 0
        self.hits = 0
        self.misses = 0
        self._lock = threading.Lock()
        self._kept: OrderedDict[Owner, OrderedDict[str, Content]] = OrderedDict()
        self._sizes: dict[Owner, int] = {}

    def of(self, owner: Owner, sent: Sequence[msgspec.Raw]) -> list[Content | None]:
        """The documents of a call, each sent in full or as a hash, None where that is not known.

        Those sent in full are kept. They have size 0, because the call itself holds them.

        Raises:
            Invalid: something is neither a hash nor an object.
        """
        raw = [bytes(each) for each in sent]
        wanted = {n: _digits(each) for n, each in enumerate(raw) if each[:1] == b'"'}
        whole = {n: _read(each) for n, each in enumerate(raw) if n not in wanted}
        self._keep(owner, {hash_of(raw[n]): content for n, content in whole.items()})
        found = self._known(owner, wanted) | {n: each._replace(size=0) for n, each in whole.items()}
        return [found.get(n) for n in range(len(raw))]

    def _known(self, owner: Owner, wanted: dict[int, str]) -> dict[int, Content]:
        with self._lock:
            kept = self._kept.get(owner, OrderedDict())
            found = {n: kept[each] for n, each in wanted.items() if each in kept}
            for n in found:
                kept.move_to_end(wanted[n])
            if found:
                self._kept.move_to_end(owner)
            self.hits += len(found)
            self.misses += len(wanted) - len(found)
            return found

    def _keep(self, owner: Owner, made: dict[str, Content]) -> None:
        with self._lock:
            for name, content in made.items():
                if content.size * _LARGEST <= self.max_bytes:
                    self._add(owner, name, content)
            while self.bytes > self.max_bytes:
                mine = self._sizes[owner] * len(self._kept) > self.max_bytes
                self._drop_oldest(owner if mine else next(iter(self._kept)))

    def _add(self, owner: Owner, name: str, content: Content) -> None:
        kept = self._kept.setdefault(owner, OrderedDict())
        before = kept.pop(name, None)
        kept[name] = content
        self._kept.move_to_end(owner)
        self._count(owner, content.size - (before.size if before else 0))

    def _drop_oldest(self, owner: Owner) -> None:
        kept = self._kept[owner]
        _, content = kept.popitem(last=False)
        self._count(owner, -content.size)
        if not kept:
            del self._kept[owner], self._sizes[owner]

    def _count(self, owner: Owner, size: int) -> None:
        self._sizes[owner] = self._sizes.get(owner, 0) + size
        self.bytes += size


def _digits(sent: bytes) -> str:
    """The digits of a hash that count, of a JSON string."""
    return sent[1:-1].decode("ascii", "replace")[:_HASH_DIGITS]


def _read(content: bytes) -> Content:
    try:
        source = decode_as(content, dict[str, Any])
    except UNDECODABLE as error:
        raise Invalid("documents: neither a hash nor an object") from error
    return Content(source, decoded_bytes(content))
