"""Deterministic texts of a document: for the encoder, for the cross-encoder and for the lexical index.

Identifiers are split (camelCase, snake_case, kebab-case, paths); the lexical fields also hold them whole.
A change here changes what the models read. Raise `TEMPLATE_VERSION` with it: every catalog then builds a new
index beside the live one.
"""

from __future__ import annotations

import re

from kitpick_engines.document import ApiDocument

TEMPLATE_VERSION = 3

_MAX_PARAMETERS = 24
"""Further parameters add noise, not meaning; some operations have 10,000."""
_MAX_DESCRIPTION = 1_500
_MAX_RETRIEVED = 400
_MAX_ABOUT = 120
_MAX_RERANKED = 400
_MAX_SENTENCES = 3
_MAX_LEXICAL = 20_000

_WORD_BOUNDARY = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z])"  # getUser → get User
    r"|(?<=[A-Z])(?=[A-Z][a-z])"  # HTTPServer → HTTP Server
    r"|(?<=[A-Za-z])(?=[0-9])(?<!v)(?<!V)"  # s3 stays readable either way; v2 is one word
)
_SEPARATORS = re.compile(r"[\s_\-./\\:{}()\[\]<>,|=&?#+*~\"'`]+")
_MARKUP = re.compile(r"<[^<>]{1,200}>|\[([^\[\]]{1,200})\]\([^()]{1,500}\)")
_SPACE = re.compile(r"\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?![a-z])")  # not after "e.g."


def split_identifier(name: str) -> str:
    """`getUserByID` → `get User By ID`, `list_all-items` → `list all items`."""
    return " ".join(_SEPARATORS.sub(" ", _WORD_BOUNDARY.sub(" ", name)).split())


def plain(prose: str, limit: int = _MAX_DESCRIPTION) -> str:
    """Prose without HTML tags, link targets and runs of white space, at most `limit` characters."""
    return _SPACE.sub(" ", _MARKUP.sub(r" \1 ", prose[: 4 * limit])).strip()[:limit].rstrip()


def first_sentences(prose: str) -> str:
    """The first three sentences of a description, fewer where they exceed 400 characters, as plain prose.

    Of a first sentence that is longer, the first 400 characters.
    """
    text = plain(prose)
    ends = [*(gap.start() for gap in _SENTENCE_END.finditer(text)), len(text)][:_MAX_SENTENCES]
    read = max((end for end in ends if end <= _MAX_RERANKED), default=_MAX_RERANKED)
    return text[:read].rstrip()


def retrieval_text(document: ApiDocument) -> str:
    """The first text that the encoder reads: first what the API does, last its place in the hierarchy.

    It is short because parameter names and long prose make the vectors of one tool's APIs alike.
    """
    purpose = plain(document.purpose or document.description, _MAX_RETRIEVED)
    return _join(
        f"{split_identifier(document.api)[:200]}: {purpose}",
        _examples(document),
        ", ".join(place for place in (plain(document.tool, 120), _above(document)) if place),
    )


def rerank_text(document: ApiDocument) -> str:
    """The text that the cross-encoder reads.

    Of a long description it holds the first sentences. They say what an API does; notes, limits and notices
    of the end of support come after, and made the cross-encoder take the API for something else.
    """
    return _join(
        f"{plain(document.tool, 120)}: {split_identifier(document.api)[:200]}.",
        first_sentences(document.purpose or document.description),
        _parameter_names(document),
        f"({above})" if (above := _above(document)) else "",
    )


def lexical_fields(document: ApiDocument) -> dict[str, str]:
    """Fields of the lexical index, identifiers both whole and split."""
    return {
        "api": f"{document.api} {split_identifier(document.api)}"[:_MAX_LEXICAL],
        "tool": f"{document.tool} {split_identifier(document.tool)}"[:_MAX_LEXICAL],
        "category": split_identifier(document.category)[:_MAX_LEXICAL],
        "description": plain(document.description, _MAX_LEXICAL),
        "parameters": " ".join(
            f"{p.name} {split_identifier(p.name)} {plain(p.description, 200)}"
            for p in document.parameters[:_MAX_PARAMETERS]
        )[:_MAX_LEXICAL],
        "examples": " ".join((*document.tags, *document.examples, *_about(document)))[:_MAX_LEXICAL],
    }


def _above(document: ApiDocument) -> str:
    """The category of the tool, and what the tool says of itself."""
    places = plain(document.category, 80), plain(document.about, _MAX_ABOUT)
    return ", ".join(place for place in places if place)


def _about(document: ApiDocument) -> tuple[str, ...]:
    return (plain(document.about),) if document.about else ()


def _examples(document: ApiDocument) -> str:
    return " ".join(plain(example, 200) for example in document.examples[:5])


def _parameter_names(document: ApiDocument) -> str:
    names = [split_identifier(p.name)[:60] for p in document.parameters[:_MAX_PARAMETERS]]
    return f"Parameters: {', '.join(names)}." if names else ""


def _join(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def has_utf8(text: str) -> bool:
    """False for a text with a lone surrogate: no stored name can equal it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def storable(text: str) -> str:
    """The text as it can be stored: a lone surrogate as the six characters of its escape."""
    return text.encode("utf-8", "backslashreplace").decode()
