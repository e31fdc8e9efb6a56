"""Documents of kitpick itself: a file with one `ApiDocument` a line, as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from kitpick_engines.document import ApiDocument, decode_document, escape_part
from kitpick_foundation.decoding import convert_to, decode_as
from kitpick_ingest.declared import declared
from kitpick_ingest.entries import Converted, PathSource, documents
from kitpick_ingest.json_files import Entry, records


class DocumentsSource(PathSource):
    """Documents of a file. All of them come to belong to this source.

    Their ids begin with the name of this source instead of the former one, so that an import beside the
    original does not take its documents away. A line may have one field more than a document: `depends_on`,
    the calls that must come before, see `kitpick_ingest.declared`.
    """

    usual_name = "documents"

    def read(self) -> Iterator[Converted]:
        """Documents in the order of the file."""
        yield from documents(self.name, records(self.path), self._document)

    def _document(self, entry: Entry) -> ApiDocument:
        document = _with_declared(entry.raw)
        former = f"{escape_part(document.source)}/"
        moved = f"{escape_part(self.name)}/{document.id.removeprefix(former)}"
        return msgspec.structs.replace(document, id=moved, source=self.name)


class _Declaring(msgspec.Struct):
    depends_on: Any = None


def _with_declared(line: bytes) -> ApiDocument:
    """The document of a line, with what it declares among its needs."""
    if b'"depends_on"' not in line:
        return decode_document(line)
    before = declared(decode_as(line, _Declaring).depends_on)
    fields = msgspec.json.decode(line)
    fields.pop("depends_on", None)
    document = convert_to(fields, ApiDocument)
    needs = dict.fromkeys((*(thing.text for thing in before), *document.needs))
    return msgspec.structs.replace(document, needs=tuple(needs))
