"""Function names of documents for a language model, and the document that belongs to a name."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

from kitpick_engines.document import ApiDocument

MAX_NAME = 64
"""Characters that OpenAI and Anthropic allow; of them letters, digits, `_` and `-`."""

_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]+")
_SHORT, _LONG = 6, 26
"""Characters of the digest: 30 bits keep the names of one answer apart, 130 bits those that collide."""
_MAX_TOOL = 24
_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"


def slug(text: str) -> str:
    """The text with every run of characters that a function name cannot hold replaced by `_`."""
    return _FOREIGN.sub("_", text).strip("_")


def function_name(document: ApiDocument) -> str:
    """`tool_api_digest`: a name that depends on nothing but the document's id, tool and api.

    So a name never changes with the company a document is shown in, and a call that a model made earlier in a
    conversation still means the same API.
    """
    return _name(document, _SHORT)


def function_names(documents: Sequence[ApiDocument]) -> list[str]:
    """A name for each document, different for different ids: a longer digest where two short ones collide."""
    ids = {document.id: document for document in documents}
    taken = Counter(function_name(document) for document in ids.values())
    return [
        name if taken[name := function_name(document)] == 1 else _name(document, _LONG)
        for document in documents
    ]


def documents_by_name(documents: Sequence[ApiDocument]) -> dict[str, ApiDocument]:
    """Inverse of `function_names`: the document that a model's call means."""
    return dict(zip(function_names(documents), documents, strict=True))


def _name(document: ApiDocument, digest_length: int) -> str:
    suffix = digest(document.id, digest_length)
    api = slug(document.api)
    tool = slug(document.tool)[:_MAX_TOOL].rstrip("_")
    if api.lower().startswith(tool.lower()):
        tool = ""
    readable = "_".join(part for part in (tool, api) if part)
    return f"{readable[: MAX_NAME - digest_length - 1].rstrip('_')}_{suffix}".lstrip("_")


def digest(text: str, length: int) -> str:
    """A digest of a text as so many characters of a name: base 32 in lower case, five bits each."""
    number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=20).digest(), "big")
    return "".join(_ALPHABET[number >> (5 * place) & 31] for place in range(length))
