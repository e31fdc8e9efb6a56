"""Function definitions in the namespaces of OpenAI's tool search: one for each tool of the hierarchy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kitpick_engines.document import ApiDocument
from kitpick_ingest.function_names import MAX_NAME, digest, slug
from kitpick_ingest.json_values import JsonObject
from kitpick_ingest.prose import clip

MAX_ABOUT = 200
"""Characters of what a namespace is for: a model reads them in every turn, found or not."""
_DIGEST = 6


def namespace_name(document: ApiDocument) -> str:
    """`tool_digest`: a name that depends on nothing but the category and the tool of the API.

    Like names of functions it has 1 to 64 letters, digits, `_` and `-`.
    """
    readable = slug(document.tool)[: MAX_NAME - _DIGEST - 1].rstrip("_")
    return f"{readable}_{digest(document.tool_key, _DIGEST)}".lstrip("_")


def in_namespaces(documents: Sequence[ApiDocument], definitions: Iterable[JsonObject]) -> list[JsonObject]:
    """The definitions, each inside the namespace of its document.

    Args:
        documents: what the definitions are of, one each.
        definitions: functions as Responses takes them.

    Returns:
        Namespaces in the order of their first function, each once; inside, functions in the given order.
    """
    found: dict[str, JsonObject] = {}
    for document, definition in zip(documents, definitions, strict=True):
        name = namespace_name(document)
        if name not in found:
            found[name] = {"type": "namespace", "name": name, "description": _purpose(document), "tools": []}
        found[name]["tools"].append(definition)
    return list(found.values())


def _purpose(document: ApiDocument) -> str:
    """What the tool says of itself, or else its place; never empty, because OpenAI refuses that."""
    said = " ".join(document.about.split())
    place = f"Functions of {document.tool}" + (f" ({document.category})" if document.category else "")
    return clip(said or place, MAX_ABOUT)
