"""Text to token ids: bounded and cached; one text or a pair as the sequence a BERT reads."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from toolrank_models.errors import UnknownToken, UnsupportedModel

_CHARACTERS_PER_TOKEN = 32
"""Only this many characters per token of room are read: 100 kB of text cost no more than a long paragraph."""

Ids = NDArray[np.int64]


class TokenIds:
    """Token ids of texts, the most recently used kept. Safe to use from several threads."""

    def __init__(self, tokenizer: bytes, capacity: int) -> None:
        self._tokenizer = Tokenizer.from_buffer(tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.start = self._special("[CLS]")
        self.separator = self._special("[SEP]")
        self.size = self._tokenizer.get_vocab_size()
        self._capacity = capacity
        self._held = 0
        self._kept: OrderedDict[bytes, Ids] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, text: str, limit: int) -> Ids:
        """The first `limit` token ids of a text, int64 (n,).

        A lone surrogate, which no UTF-8 text can hold, is read as the replacement character U+FFFD.
        """
        encoded = text[: limit * _CHARACTERS_PER_TOKEN].encode("utf-16-le", "surrogatepass")
        key = hashlib.blake2b(encoded, digest_size=16, salt=limit.to_bytes(4, "little")).digest()
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
        clean = encoded.decode("utf-16-le", "replace")
        ids = np.asarray(self._tokenizer.encode(clean, add_special_tokens=False).ids[:limit], np.int64)
        self._keep(key, ids)
        return ids

    def _special(self, token: str) -> int:
        found = self._tokenizer.token_to_id(token)
        if found is None:
            raise UnsupportedModel(f"the tokenizer knows no {token}: only models of the BERT family run here")
        return found

    def _keep(self, key: bytes, ids: Ids) -> None:
        ids.flags.writeable = False
        with self._lock:
            if key in self._kept:
                return
            self._kept[key] = ids
            self._held += len(ids) + 1  # empty texts take room as well
            while self._held > self._capacity and self._kept:
                self._held -= len(self._kept.popitem(last=False)[1]) + 1


def single(tokens: TokenIds, text: str, max_tokens: int) -> tuple[Ids, Ids]:
    """`[CLS] text [SEP]` and its token types, at most `max_tokens` long; both int64 (n,)."""
    ids = np.concatenate(([tokens.start], tokens.of(text, max_tokens - 2), [tokens.separator]))
    return ids, np.zeros_like(ids)


def single_of_ids(tokens: TokenIds, ids: Sequence[int], max_tokens: int) -> tuple[Ids, Ids]:
    """`[CLS] ids [SEP]` and its token types, at most `max_tokens` long; `ids` may have those ends already.

    Raises:
        UnknownToken: an id that the vocabulary does not have.
    """
    given = np.asarray(ids, np.int64)
    if ((given < 0) | (given >= tokens.size)).any():
        raise UnknownToken(f"token ids run from 0 to {tokens.size - 1:,} here")
    inner = given[int(given[:1].tolist() == [tokens.start]) :]
    inner = inner[: len(inner) - int(inner[-1:].tolist() == [tokens.separator])]
    full = np.concatenate(([tokens.start], inner[: max_tokens - 2], [tokens.separator]))
    return full, np.zeros_like(full)


def pair(tokens: TokenIds, query: str, text: str, max_tokens: int) -> tuple[Ids, Ids]:
    """`[CLS] query [SEP] text [SEP]` and its token types, at most `max_tokens` long; both int64 (n,).

    Where both together are too long the longer one is cut, to half of the room at most: neither an enormous
    query nor an enormous text can crowd out the other.
    """
    room = max_tokens - 3
    first, second = tokens.of(query, room), tokens.of(text, room)
    kept = _kept(len(first), len(second), room)
    first, second = first[:kept], second[: room - kept]
    ids = np.concatenate(([tokens.start], first, [tokens.separator], second, [tokens.separator]))
    types = np.zeros_like(ids)
    types[len(first) + 2 :] = 1
    return ids, types


def _kept(first: int, second: int, room: int) -> int:
    """How many of `first` tokens stay beside `second` ones, as `longest_first` of tokenizers has it."""
    if first <= second:
        return min(first, max(room - second, room // 2))
    return max(room - second, room - room // 2)
