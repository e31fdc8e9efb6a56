"""Kinds of documents that are no APIs: skills, MCP servers and agents.

The source gives such documents the kind as their category, by which every search can be narrowed. What they
are shows in the definition, which is given as it is: they are read, started or asked, and not called.
"""

from __future__ import annotations

from typing import Literal

from kitpick_engines.document import ApiDocument
from kitpick_ingest.json_values import JsonObject, decoded_object

SKILL, SERVER, AGENT = "skill", "server", "agent"
"""Categories of documents of these kinds, unless the source was given another."""
TEXT = "skill_md"
"""Key of a skill's definition with the text of its `SKILL.md`."""
Kind = Literal["skill", "server", "agent"]


def published(document: ApiDocument) -> tuple[Kind, JsonObject] | None:
    """The kind of a document that is no API, and its definition; None for an API."""
    definition = decoded_object(document.definition)
    kind = _kind_of(definition)
    return None if kind is None else (kind, definition)


def _kind_of(definition: JsonObject) -> Kind | None:
    if isinstance(definition.get(TEXT), str):
        return "skill"
    if "name" in definition and (
        isinstance(definition.get("packages"), list) or isinstance(definition.get("remotes"), list)
    ):
        return "server"
    if isinstance(definition.get("skills"), list) and isinstance(definition.get("capabilities"), dict):
        return "agent"
    return None
