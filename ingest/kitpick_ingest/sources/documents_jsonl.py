"""Documents of kitpick as JSON Lines: written from one catalog, read into another."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from kitpick_engines.document import ApiDocument, decode_document, encode_document, escape_part
from kitpick_ingest.entries import Converted, documents
from kitpick_ingest.json_files import Entry, records


class DocumentsSource:
    """Documents of a file that `export_documents` wrote. All of them come to belong to this source.

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


def export_documents(found: Iterable[ApiDocument], path: Path) -> int:
    """Writes documents one a line and returns their number; the file appears when it is complete.

    Raises:
        InvalidDocument: a document without a UTF-8 form; the file is left as it was.
        OSError: the file cannot be written.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    count = 0
    try:
        with partial.open("wb") as file:
            for document in found:
                file.write(encode_document(document) + b"\n")
                count += 1
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return count
