"""Lists to train on as one small file: every text once, and by number wherever it stands."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from kitpick_training.errors import BrokenLists


class TrainingList(Protocol):
    """A request, the texts it is compared with, and which of them answer it."""

    @property
    def query(self) -> str:
        """The request."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts."""

    @property
    def relevant(self) -> tuple[bool, ...]:
        """Which of the texts are right."""


class CardList(NamedTuple):
    """A `TrainingList` as the card reads it."""

    query: str
    texts: tuple[str, ...]
    relevant: tuple[bool, ...]


def packed_lists(lists: Iterable[TrainingList]) -> bytes:
    """The lists as compressed JSON."""
    numbers: dict[str, int] = {}
    rows = [
        [
            item.query,
            [numbers.setdefault(text, len(numbers)) for text in item.texts],
            [place for place, right in enumerate(item.relevant) if right],
        ]
        for item in lists
    ]
    content = json.dumps({"texts": list(numbers), "lists": rows}, ensure_ascii=False)
    return gzip.compress(content.encode("utf-8", "surrogatepass"), mtime=0)


def unpacked_lists(content: bytes) -> Sequence[CardList]:
    """Inverse of `packed_lists`.

    Raises:
        BrokenLists: something else.
    """
    try:
        held = json.loads(gzip.decompress(content).decode("utf-8", "surrogatepass"))
        texts = held["texts"]
        return [
            CardList(query, tuple(texts[n] for n in of), tuple(place in right for place in range(len(of))))
            for query, of, right in held["lists"]
        ]
    except (OSError, EOFError, ValueError, KeyError, TypeError, IndexError) as error:
        raise BrokenLists(str(error)) from error
