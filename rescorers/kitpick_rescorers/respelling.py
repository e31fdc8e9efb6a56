"""Corrects spelling and writes out abbreviations of a request, by the texts that its first search found.

Everything it is compared with comes from searches with the caller's own filter. So a correction never holds a
word of documents that the caller may not see, and equal catalogs, as the caller sees them, correct alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kitpick_engines.contract import Candidate, Filter, SearchRequest, Sentence
from kitpick_engines.lexical import Terms, indexed_fields
from kitpick_foundation.errors import MissingExtra
from kitpick_models.errors import ModelError
from kitpick_rescorers.contracts import QueryEncoder, SearchedIndex
from kitpick_rescorers.reading.abbreviations import WRITTEN, abbreviations, written_out
from kitpick_rescorers.reading.languages import ENGLISH, language_of
from kitpick_rescorers.reading.names import named, whole_name
from kitpick_rescorers.reading.spelling import corrections, respelt, suspects, words_of

_PROBED = 5
"""Candidates that are read for each long form."""
_WIDER = 200
"""Candidates with whose words a word is compared that those of the first search do not correct."""
_SHORT = re.compile(r"(?<!\w)(?:[A-Z][A-Z0-9]{1,4}s?|[a-z0-9]{2,5})(?!\w)")
_LONG = re.compile(r"(?<![\w'’])[A-Za-z]{4,24}(?!\w)")
_MAX_READ = 2_000


class ReadAs(NamedTuple):
    """A request as it is understood."""

    text: str
    notes: tuple[str, ...] = ()
    """What was changed, such as `cansel → cancel`; empty where nothing was."""


class SecondLook:
    """Reads requests again over what a first search found for a caller."""

    def __init__(self, index: SearchedIndex, encoder: QueryEncoder, permitted: Filter) -> None:
        self._index = index
        self._encoder = encoder
        self._permitted = permitted

    def at(self, text: str, found: Sequence[Candidate]) -> ReadAs:
        """The request with its abbreviations written out and its slips corrected; as it is if it is a name.

        Raises:
            EngineError: the index cannot be searched.
        """
        if named(found, whole_name(text)):
            return ReadAs(text)
        read = text[:_MAX_READ]
        notes: list[str] = []
        if any(short.isupper() or short.lower() in WRITTEN for short in _SHORT.findall(read)):
            text, notes = self._written_out(text, found)
        if language_of(text) != ENGLISH:
            return ReadAs(text, tuple(notes))
        try:
            unknown = any(not self._encoder.knows(word.lower()) for word in _LONG.findall(read))
        except (ModelError, MissingExtra):
            return ReadAs(text, tuple(notes))
        if unknown:
            text, more = self._corrected(text, found, self._encoder.knows)
            notes += more
        return ReadAs(text, tuple(notes))

    def _written_out(self, text: str, found: Sequence[Candidate]) -> tuple[str, list[str]]:
        """The text with its abbreviations behind their long forms.

        In another language only those in capitals are (a Portuguese "os" is no operating system) that no text
        has. The others are found as they stand, and a glossary would read the words of a product's name as
        things that are asked for: "liste os usuários do IAM" asks for no access.
        """
        if language_of(text) == ENGLISH:
            shorts = abbreviations(text, (item.text for item in found))
        else:
            shorts = [each for each in abbreviations(text) if not _stands_in(each.short, found)]
        if not shorts:
            return text, []
        forms = tuple(Sentence(form, None) for each in shorts for form in each.forms)
        near = self._index.search(SearchRequest("", None, _PROBED, self._permitted, forms))
        return written_out(text, shorts, [item.text for item in (*near, *found)])

    def _corrected(
        self, text: str, found: Sequence[Candidate], is_known: Callable[[str], bool]
    ) -> tuple[str, list[str]]:
        """The text with the suspects corrected that no document the caller may see has."""
        doubtful = suspects(text, is_known)
        if not doubtful:
            return text, []
        near = words_of(item.text for item in found)
        right = corrections(doubtful, near)
        if any(each.word not in right and each.word.lower() not in near for each in doubtful):
            wider = self._index.search(SearchRequest(text, None, _WIDER, self._permitted))
            right = corrections(doubtful, words_of(item.text for item in (*found, *wider)))
        right = self._unheld(right)
        notes = [f"{word} → {better}" for word, better in right.items()]
        return respelt(text, doubtful, right), notes

    def _unheld(self, right: dict[str, str]) -> dict[str, str]:
        """The corrections, by word, without those of words that a document the caller may see has."""
        if not right or not self._index.search(SearchRequest(" ".join(right), None, 1, self._permitted)):
            return right
        if len(right) == 1:
            return {}
        alone = tuple(Sentence(word, None) for word in right)
        near = self._index.search(SearchRequest("", None, 1, self._permitted, alone))
        documents = self._index.fetch([item.id for item in near], self._permitted)
        terms = Terms()
        held = {term for one in terms.of_documents(list(map(indexed_fields, documents))) for term in one}
        return {word: better for word, better in right.items() if held.isdisjoint(terms.of_request(word))}


def _stands_in(short: str, found: Sequence[Candidate]) -> bool:
    """Whether an abbreviation is a common word, or something found has it as it is."""
    held = re.compile(rf"(?<!\w){re.escape(short)}(?!\w)")
    return not short.isupper() or any(held.search(item.text) for item in found)
