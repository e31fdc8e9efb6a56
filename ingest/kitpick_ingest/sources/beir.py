"""A corpus in BEIR's layout (`corpus.jsonl` of `_id`, `title`, `text`), ToolLens among them.

Source: Thakur et al., "BEIR" (NeurIPS 2021); the text of a ToolLens entry is laid out as in Qu et al.,
"COLT" (CIKM 2024).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from kitpick_engines.document import ApiDocument, Parameter, document_id
from kitpick_foundation.decoding import decode_as
from kitpick_ingest.entries import Converted, PathSource, as_text, documents
from kitpick_ingest.errors import SourceError
from kitpick_ingest.found_files import problem_of
from kitpick_ingest.json_files import UNREADABLE, Entry, records

_LABELS = (
    "category_name:",
    ", tool_name:",
    ", api_name:",
    ", api_description:",
    ", required_params:",
    ", optional_params:",
    ", return_schema:",
)


class _CorpusRecord(msgspec.Struct):
    id: str = msgspec.field(name="_id")
    text: str = ""
    title: str | None = None


class _Listed(msgspec.Struct):
    name: str
    type: Any = ""
    description: Any = ""


class BeirSource(PathSource):
    """Entries of a `corpus.jsonl`, or of the folder that holds it; ids are `name/_id`.

    A text that starts with `category_name:` is taken apart into the fields it names. Any other entry becomes
    an API whose name is its title (or `_id`), of a tool that has the source's name.
    """

    usual_name = "beir"

    def read(self) -> Iterator[Converted]:
        """Documents in the order of the corpus."""
        yield from documents(self.name, records(self._corpus()), self._document)

    def _corpus(self) -> Path:
        if not self.path.is_dir():
            return self.path
        corpus = self.path / "corpus.jsonl"
        if corpus.exists() and (problem := problem_of(corpus, self.path.resolve())):
            raise SourceError(str(corpus), problem)
        return corpus

    def _document(self, entry: Entry) -> ApiDocument:
        row = decode_as(entry.raw, _CorpusRecord)
        fields = split_labels(row.text) or {
            "category": "",
            "tool": self.name,
            "api": row.title or row.id,
            "description": row.text,
        }
        return ApiDocument(
            id=document_id(self.name, row.id), source=self.name, definition=entry.raw.decode(), **fields
        )


def split_labels(text: str) -> dict[str, Any] | None:
    """Fields of a document that a ToolLens text names, None for a text of another shape.

    A value ends where the next label first stands: one pass over the text.
    """
    values = _between(text)
    if values is None:
        return None
    category, tool, api, description, required, optional, returns = values
    try:
        inputs = (*_parameters(required, required=True), *_parameters(optional, required=False))
    except UNREADABLE:
        return None
    return {
        "category": category,
        "tool": tool,
        "api": api,
        "description": description,
        "parameters": inputs,
        "returns": returns,
    }


def _between(text: str) -> list[str] | None:
    if not text.startswith(_LABELS[0]):
        return None
    values = []
    begin = len(_LABELS[0])
    for label in _LABELS[1:]:
        end = text.find(label, begin)
        if end < 0:
            return None
        values.append(text[begin:end].strip())
        begin = end + len(label)
    return [*values, text[begin:].strip()]


def _parameters(listed: str, *, required: bool) -> tuple[Parameter, ...]:
    rows = decode_as(listed, list[_Listed])
    return tuple(Parameter(row.name, as_text(row.type), required, as_text(row.description)) for row in rows)
