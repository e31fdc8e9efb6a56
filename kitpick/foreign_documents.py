"""English words for documents in other languages, so that models that read English can rank them.

The words are those that the glossary has for requests in that language, so a request and a document in one
language meet in them as well. They stand before the document's own words in the text that models rank by.
"""

from __future__ import annotations

from msgspec.structs import replace

from kitpick_engines.document import ApiDocument
from kitpick_engines.text import plain, split_identifier
from kitpick_ingest.entries import Converted
from kitpick_rescorers.reading.glossary import gloss
from kitpick_rescorers.reading.languages import ENGLISH, language_of

_MAX_READ = 300
"""Characters of a description that are read: its beginning says what the API does."""
_MAX_WORDS = 20


def with_english(item: Converted) -> Converted:
    """The document with English words before its purpose, if it is in a language that the glossary reads."""
    if not isinstance(item, ApiDocument) or not isinstance(item.description, str):
        return item
    own = item.purpose or item.description
    read = plain(own, _MAX_READ)
    language = language_of(read)
    if language == ENGLISH:
        return item
    words = dict.fromkeys((*gloss(split_identifier(item.api), language), *gloss(read, language)))
    return replace(item, purpose=f"{' '.join(list(words)[:_MAX_WORDS])}: {own}") if words else item
