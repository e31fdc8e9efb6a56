"""Agent cards of A2A: what other agents can be asked for, one document for each of their skills."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from kitpick_engines.document import ApiDocument, document_id
from kitpick_ingest.entries import (
    BadEntry,
    Converted,
    FilesSource,
    as_text,
    convert_entry,
    dead_letter,
    read_records,
)
from kitpick_ingest.found_files import FoundFile
from kitpick_ingest.json_files import Entry
from kitpick_ingest.json_values import JsonObject, as_list, as_object, as_string
from kitpick_ingest.kinds import AGENT


class AgentCardsSource(FilesSource):
    """Cards of a file, a list or lines of them, or of a folder of such files; ids are `name/AGENT/SKILL`."""

    usual_name = "agents"

    def _read_file(self, file: FoundFile) -> Iterator[Converted]:
        yield from read_records(self.name, file.path, object, self._read)

    def _read(self, entry: Entry, given: object) -> Iterator[Converted]:
        card = as_object(given)
        skills = [as_object(skill) for skill in as_list(card.get("skills"))]
        if not as_string(card.get("name")) or not skills:
            yield dead_letter(self.name, entry, "an agent card without `name` or without `skills`")
            return
        for skill in skills:
            yield convert_entry(self.name, entry, partial(self._document, card=card, skill=skill))

    def _document(self, entry: Entry, card: JsonObject, skill: JsonObject) -> ApiDocument:
        agent = as_string(card["name"])
        known = as_string(skill.get("id")) or as_string(skill.get("name"))
        if not known:
            raise BadEntry("a skill without `id` and `name`")
        return ApiDocument(
            id=document_id(self.name, agent, known),
            source=self.name,
            category=AGENT,
            tool=agent,
            api=as_string(skill.get("name")) or known,
            description=as_text(skill.get("description")),
            examples=_texts(skill.get("examples")),
            tags=_texts(skill.get("tags")),
            version=as_string(card.get("version")),
            about=as_text(card.get("description")),
            definition=entry.raw.decode(),
        )


def _texts(given: Any) -> tuple[str, ...]:  # noqa: ANN401 - whatever a card says
    return tuple(text for text in as_list(given) if isinstance(text, str))
