"""Settings and mapping of an index: complete and strict.

Three kinds of fields: what `ApiDocument` holds, under its own names, for results and for people who search
the index themselves; what our own rankings read (`words`, `counts`, `lengths`, `vector`); and what says
which session wrote a document and which one ended it (`born`, `died`).
"""

from __future__ import annotations

from kitpick_engines.lexical import FIELDS
from kitpick_engines.remote.server import Json

_LIMITED = 1_000
"""Characters beyond which a keyword that is only shown is not indexed."""
IDENTIFIER = "kitpick_identifier"
PROSE = "kitpick_prose"
_REPEATED = "kitpick_weighted"
EXCLUDED_FROM_SOURCE = ("vector", "words")
"""Fields that can be made again from the others: `vector_f32` is the vector, bit by bit."""

_KEYWORD: Json = {"type": "keyword"}
_SHOWN_KEYWORD: Json = {"type": "keyword", "ignore_above": _LIMITED}
_STORED: Json = {"type": "text", "index": False}


def index_settings() -> Json:
    """Settings that ranking depends on. Refreshes happen at commits only."""
    return {
        "refresh_interval": "-1",
        "analysis": {
            "filter": {"kitpick_parts": {"type": "word_delimiter_graph", "preserve_original": True}},
            "analyzer": {
                IDENTIFIER: {
                    "type": "custom",
                    "tokenizer": "standard",
                    "filter": ["kitpick_parts", "flatten_graph", "lowercase", "asciifolding", "porter_stem"],
                },
                PROSE: {
                    "type": "custom",
                    "tokenizer": "standard",
                    "filter": ["lowercase", "asciifolding", "porter_stem"],
                },
            },
        },
        # `words` repeats a term as often as it weighs, already divided by the field's length
        "similarity": {_REPEATED: {"type": "BM25", "k1": 4.8, "b": 0.0}},
    }


def mapping(vector: Json, model: str = "") -> Json:
    """The mapping, with the engine's own definition of the vector field.

    `model` is the identity of what made the vectors; empty in a template, which is for any.
    """
    return {
        # the plugin reads it before it compares vectors
        **({"_meta": {"kitpick": {"vector_model": model}}} if model else {}),
        "dynamic": "strict",
        "_source": {"excludes": list(EXCLUDED_FROM_SOURCE)},
        "properties": {
            **_document(),
            **_ranking(),
            "vector": vector,
            "born": {"type": "long"},
            "died": {"type": "long"},
        },
    }


def _document() -> Json:
    named = {"text": {"type": "text", "analyzer": IDENTIFIER}}
    prose = {"type": "text", "analyzer": PROSE}
    parameter = {
        "name": {"type": "text", "analyzer": IDENTIFIER},
        "type": _SHOWN_KEYWORD,
        "required": {"type": "boolean"},
        "description": prose,
    }
    return {
        "id": _KEYWORD,
        "source": _KEYWORD,
        "category": {**_KEYWORD, "fields": named},
        "tool": {**_SHOWN_KEYWORD, "fields": named},
        "tool_key": _KEYWORD,
        "api": {**_SHOWN_KEYWORD, "fields": named},
        "description": prose,
        "parameters": {"properties": parameter},
        "returns": _STORED,
        "examples": prose,
        "tags": {**_SHOWN_KEYWORD, "fields": {"text": prose}},
        "version": _SHOWN_KEYWORD,
        "deprecated": {"type": "boolean"},
        "successor": _SHOWN_KEYWORD,
        "effect": _KEYWORD,
        "tenant": _KEYWORD,
        "allowed": _KEYWORD,
        "public": {"type": "boolean"},
        "definition": _STORED,
        **dict.fromkeys(("needs", "gives"), _SHOWN_KEYWORD),
        **dict.fromkeys(("about", "inputs", "purpose"), _STORED),
        "content_hash": {"type": "keyword", "index": False},
    }


def _ranking() -> Json:
    lengths = {name: {"type": "integer", "index": False} for name in FIELDS}
    return {
        "text": _STORED,
        "words": {
            "type": "text",
            "analyzer": "whitespace",
            "norms": False,
            "index_options": "freqs",
            "similarity": _REPEATED,
        },
        "counts": {"type": "object", "enabled": False},
        "lengths": {"properties": lengths},
        "vector_f32": {"type": "binary"},
    }
