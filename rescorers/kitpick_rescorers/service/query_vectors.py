"""The vectors of the last requests: a search in several calls embeds its request once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from kitpick_engines.contract import Vector

_MOST = 4_096
"""Requests and sentences that are remembered, about 1.5 KB each."""
Encode = Callable[[Sequence[str]], Sequence[Vector]]


class QueryVectors:
    """Vectors by key and text, the last ones. Safe to use from several threads.

    Each API key has its own: how fast an answer comes tells nobody what somebody else asked.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], Vector] = OrderedDict()

    def of(self, owner: str, texts: Sequence[str], encode: Encode) -> list[Vector]:
        """Unit vectors, float32 (d,), one a text; `encode` makes those that are not known, together."""
        with self._lock:
            found = {text: self._known.get((owner, text)) for text in texts}
        missing = [text for text, vector in found.items() if vector is None]
        made = dict(zip(missing, encode(missing), strict=True)) if missing else {}
        vectors = {text: vector for text, vector in found.items() if vector is not None} | made
        self._keep(owner, vectors)
        return [vectors[text] for text in texts]

    def _keep(self, owner: str, vectors: dict[str, Vector]) -> None:
        with self._lock:
            for text, vector in vectors.items():
                self._known[owner, text] = vector
                self._known.move_to_end((owner, text))
            while len(self._known) > self._most:
                self._known.popitem(last=False)
