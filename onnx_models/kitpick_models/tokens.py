"""Text to token ids: bounded and cached; one text or a pair as the sequence a BERT reads."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from kitpick_foundation.forks import fork_lock
from kitpick_models.batching import NATIVE
from kitpick_models.errors import UnknownToken, UnsupportedModel

_CHARACTERS_PER_TOKEN = 32
"""Only this many characters per token of room are read: 100 kB of text cost no more than a long paragraph."""

_WORD_MARKS = ("", "\N{LOWER ONE EIGHTH BLOCK}", "\N{LATIN CAPITAL LETTER G WITH DOT ABOVE}")
"""What stands before a word in a vocabulary: nothing, or the mark of SentencePiece or of byte-level BPE."""

Ids = NDArray[np.int64]


class TokenIds:
    """Token ids of texts, the most recently used kept. Safe to use from several threads."""

    def __init__(self, tokenizer: bytes, capacity: int, *, own_ends: bool = False) -> None:
        """Reads a tokenizer. `own_ends`: what stands around a text is what its template says.

        Raises:
            UnsupportedModel: it puts nothing known around a text.
        """
        self._tokenizer = Tokenizer.from_buffer(tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        ends = self._ends() if own_ends else (self._special("[CLS]"), self._special("[SEP]"))
        self.start, self.separator = ends
        self.size = self._tokenizer.get_vocab_size()
        self._capacity = capacity
        self._held = 0
        self._kept: OrderedDict[bytes, Ids] = OrderedDict()
        self._lock = fork_lock()

    def of(self, text: str, limit: int) -> Ids:
        """The first `limit` token ids of a text, int64 (n,).

        A lone surrogate, which no UTF-8 text can hold, is read as the replacement character U+FFFD.
        """
        return self.of_all([text], limit)[0]

    def of_all(self, texts: Sequence[str], limit: int) -> list[Ids]:
        """`of` of every text; those that are not kept are tokenised side by side."""
        encoded = [
            text[: limit * _CHARACTERS_PER_TOKEN].encode("utf-16-le", "surrogatepass") for text in texts
        ]
        salt = limit.to_bytes(4, "little")
        keys = [hashlib.blake2b(data, digest_size=16, salt=salt).digest() for data in encoded]
        found = self._found(keys)
        missing = {key: data for key, data in zip(keys, encoded, strict=True) if key not in found}
        clean = [data.decode("utf-16-le", "replace") for data in missing.values()]
        with NATIVE:
            tokenised = self._tokenizer.encode_batch_fast(clean, add_special_tokens=False)
        for key, encoding in zip(missing, tokenised, strict=True):
            found[key] = np.asarray(encoding.ids[:limit], np.int64)
            self._keep(key, found[key])
        return [found[key] for key in keys]

    def has_word(self, word: str) -> bool:
        """Whether a word is one entry of the vocabulary; some mark where a word begins."""
        return any(self._tokenizer.token_to_id(mark + word) is not None for mark in _WORD_MARKS)

    def require_known(self, ids: Sequence[int] | Ids) -> None:
        """Raises `UnknownToken` for an id that the vocabulary does not have."""
        given = np.asarray(ids, np.int64)
        if ((given < 0) | (given >= self.size)).any():
            raise UnknownToken(f"token ids run from 0 to {self.size - 1:,} here")

    def cut(self, text: str, limit: int) -> str:
        """A text up to the end of its first `limit` tokens."""
        known = text[: (limit + 1) * _CHARACTERS_PER_TOKEN].encode("utf-8", "replace").decode()
        with NATIVE:
            offsets = self._tokenizer.encode(known, add_special_tokens=False).offsets
        return text[: offsets[limit - 1][1] if len(offsets) > limit else limit * _CHARACTERS_PER_TOKEN]

    def fits(self, text: str, limit: int) -> bool:
        """Whether a text has at most `limit` tokens."""
        return len(text) <= limit * _CHARACTERS_PER_TOKEN and len(self.of(text, limit + 1)) <= limit

    def filled(self, text: str, limit: int) -> int:
        """`limit` where a text has more tokens than that, else 0. Costs nothing where it was just read."""
        return limit if self.longer([text], limit)[0] else 0

    def longer(self, texts: Sequence[str], limit: int) -> list[bool]:
        """Which of the texts have more than `limit` tokens. Costs little for texts that were just read."""
        may = [place for place, text in enumerate(texts) if _may_exceed(text, limit)]
        read = self.of_all([texts[place] for place in may], limit)
        most = limit * _CHARACTERS_PER_TOKEN
        full = [
            place
            for place, ids in zip(may, read, strict=True)
            if len(ids) == limit or len(texts[place]) > most
        ]
        longer = {place for place in full if not self.fits(texts[place], limit)}
        return [place in longer for place in range(len(texts))]

    def _found(self, keys: Sequence[bytes]) -> dict[bytes, Ids]:
        """Those that are kept; from now on they are the most recently used."""
        found = {}
        with self._lock:
            for key in keys:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    found[key] = self._kept[key]
        return found

    def _ends(self) -> tuple[int, int]:
        """The one token before a text and the one after it, by the tokenizer's own template."""
        around = self._tokenizer.encode("").ids
        if len(around) != 2:
            raise UnsupportedModel(
                f"the tokenizer puts {len(around)} tokens around a text: only models that have one before it "
                "and one after it, as BERT, XLM-RoBERTa and their like do, run here"
            )
        return around[0], around[1]

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


def _may_exceed(text: str, limit: int) -> bool:
    """Whether a text may have more than `limit` tokens: a Korean syllable is read as up to three."""
    return len(text) > limit or not text.isascii()


def single(tokens: TokenIds, text: str, max_tokens: int) -> tuple[Ids, Ids]:
    """`[CLS] text [SEP]` and its token types, at most `max_tokens` long; both int64 (n,)."""
    return singles(tokens, [text], max_tokens)[0]


def singles(tokens: TokenIds, texts: Sequence[str], max_tokens: int) -> list[tuple[Ids, Ids]]:
    """`single` of every text."""
    parts = tokens.of_all(texts, max_tokens - 2)
    whole = [np.concatenate(([tokens.start], ids, [tokens.separator])) for ids in parts]
    return [(ids, np.zeros_like(ids)) for ids in whole]


def single_of_ids(tokens: TokenIds, ids: Sequence[int], max_tokens: int) -> tuple[Ids, Ids]:
    """`[CLS] ids [SEP]` and its token types, at most `max_tokens` long; `ids` may have those ends already.

    Raises:
        UnknownToken: an id that the vocabulary does not have.
    """
    tokens.require_known(ids)
    given = np.asarray(ids, np.int64)
    inner = given[int(given[:1].tolist() == [tokens.start]) :]
    inner = inner[: len(inner) - int(inner[-1:].tolist() == [tokens.separator])]
    full = np.concatenate(([tokens.start], inner[: max_tokens - 2], [tokens.separator]))
    return full, np.zeros_like(full)


def pair(tokens: TokenIds, query: str, text: str, max_tokens: int) -> tuple[Ids, Ids]:
    """`[CLS] query [SEP] text [SEP]` and its token types, at most `max_tokens` long; both int64 (n,).

    Where both together are too long the longer one is cut, to half of the room at most: neither an enormous
    query nor an enormous text can crowd out the other.
    """
    return pairs(tokens, query, [text], max_tokens)[0]


def pairs(tokens: TokenIds, query: str, texts: Sequence[str], max_tokens: int) -> list[tuple[Ids, Ids]]:
    """`pair` of a query with every text; the query is tokenised once."""
    room = max_tokens - 3
    first = tokens.of(query, room)
    return [_pair(tokens, first, second, room) for second in tokens.of_all(texts, room)]


def _pair(tokens: TokenIds, first: Ids, second: Ids, room: int) -> tuple[Ids, Ids]:
    kept = kept_of_first(len(first), len(second), room)
    first, second = first[:kept], second[: room - kept]
    ids = np.concatenate(([tokens.start], first, [tokens.separator], second, [tokens.separator]))
    types = np.zeros_like(ids)
    types[len(first) + 2 :] = 1
    return ids, types


def kept_of_first(first: int, second: int, room: int) -> int:
    """How many of `first` tokens stay beside `second` ones, as `longest_first` of tokenizers has it."""
    if first <= second:
        return min(first, max(room - second, room // 2))
    return min(first, max(room - second, room - room // 2))
