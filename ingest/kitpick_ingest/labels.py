"""A source with labels of the operator: category, tenant and who may see its documents."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import msgspec

from kitpick_engines.document import ApiDocument, validate_document
from kitpick_engines.errors import InvalidDocument
from kitpick_ingest.fingerprints import digest, fingerprint_of
from kitpick_ingest.source import DeadLetter, Source, watch_source


class Labels(msgspec.Struct, frozen=True, omit_defaults=True):
    """Values for every document of a source; an empty one leaves what the source said."""

    category: str = ""
    tenant: str = ""
    allowed: tuple[str, ...] = ()


class LabelledSource:
    """A source whose documents carry the operator's labels. Ids stay as they were."""

    def __init__(self, source: Source, labels: Labels) -> None:
        self.source = source
        self.name = source.name
        self.category = labels.category
        """The operator's category, empty where there is none."""
        self._labels = labels

    def read(self) -> Iterator[ApiDocument | DeadLetter]:
        """The documents of the source with the labels."""
        changes = {field: value for field, value in msgspec.structs.asdict(self._labels).items() if value}
        for item in self.source.read():
            yield item if isinstance(item, DeadLetter) else self._labelled(item, changes)

    def fingerprint(self) -> str | None:
        """Changes with the source and with its labels; None if the source has no fingerprint."""
        inner = fingerprint_of(self.source)
        return None if inner is None else digest(inner, msgspec.json.encode(self._labels).decode())

    def watch(self, on_change: Callable[[Source], None], stop: threading.Event | None = None) -> None:
        """Passes on the reports of a live source with the labels."""
        watch_source(self.source, lambda snapshot: on_change(LabelledSource(snapshot, self._labels)), stop)

    def _labelled(self, document: ApiDocument, changes: dict[str, object]) -> ApiDocument | DeadLetter:
        try:
            return validate_document(msgspec.structs.replace(document, **changes))
        except InvalidDocument as error:
            return DeadLetter(self.name, document.id, error.reason)
