"""Documents of kitpick itself: a file with one `ApiDocument` a line, as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from kitpick_engines.document import ApiDocument, decode_document, escape_part
from kitpick_ingest.entries import Converted, documents
from kitpick_ingest.json_files import Entry, records


class DocumentsSource:
    """Documents of a file. All of them come to belong to this source.

    Their ids begin with the name of this source instead of the former one, so that an import beside the
    original does not take its documents away.
    """

    def __init__(self, path: Path, name: str = "documents") -> None:
        self.path = path
        self.name = name

    def read(self) -> Iterator[Converted]:
        """Documents in the order of the file.

        Raises:
            SourceError: the file cannot be read.
        """
        yield from documents(self.name, records(self.path), self._document)

    def _document(self, entry: Entry) -> ApiDocument:
        document = decode_document(entry.raw)
        former = f"{escape_part(document.source)}/"
        moved = f"{escape_part(self.name)}/{document.id.removeprefix(former)}"
        return msgspec.structs.replace(document, id=moved, source=self.name)
