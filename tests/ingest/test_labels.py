"""What the operator says about the documents of a source."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from kitpick_engines.document import ApiDocument
from kitpick_ingest.errors import SourceError
from kitpick_ingest.labels import LabelledSource, Labels
from kitpick_ingest.source import DeadLetter, Source

DOCUMENT = ApiDocument(id="s/t/a", source="s", category="own", tool="t", api="a", allowed=("bob",))
LETTER = DeadLetter("s", "f:1", "broken")


class Fixed:
    name = "s"

    def read(self) -> Iterator[ApiDocument | DeadLetter]:
        yield DOCUMENT
        yield LETTER


class Printed(Fixed):
    def __init__(self, fingerprint: str | None) -> None:
        self.printed = fingerprint

    def fingerprint(self) -> str | None:
        return self.printed


class Live(Fixed):
    def watch(self, on_change: Callable[[Source], None], stop: threading.Event | None = None) -> None:
        on_change(Fixed())


def test_only_what_is_given_is_replaced() -> None:
    document, letter = LabelledSource(Fixed(), Labels(tenant="acme")).read()
    assert isinstance(document, ApiDocument)
    assert (document.tenant, document.category, document.allowed) == ("acme", "own", ("bob",))
    assert letter == LETTER


def test_a_label_that_no_engine_can_hold_makes_dead_letters() -> None:
    items = list(LabelledSource(Fixed(), Labels(category="a\0b")).read())
    assert [type(item) for item in items] == [DeadLetter, DeadLetter]


def test_what_a_watch_reports_is_labelled_too() -> None:
    seen: list[Source] = []
    LabelledSource(Live(), Labels(allowed=("alice",))).watch(seen.append)
    document = next(iter(seen[0].read()))
    assert isinstance(document, ApiDocument)
    assert document.allowed == ("alice",)


def test_a_source_that_announces_nothing_cannot_be_watched() -> None:
    with pytest.raises(SourceError, match="announces no changes"):
        LabelledSource(Fixed(), Labels(tenant="acme")).watch(lambda _: None)


def test_the_fingerprint_changes_with_the_source_and_with_the_labels() -> None:
    printed = [
        LabelledSource(source, labels).fingerprint()
        for source in (Printed("one"), Printed("other"))
        for labels in (Labels(tenant="acme"), Labels(category="acme"))
    ]
    assert len(set(printed)) == 4
    assert LabelledSource(Printed("one"), Labels(tenant="acme")).fingerprint() == printed[0]


@pytest.mark.parametrize("source", [Fixed(), Printed(None)])
def test_a_source_that_cannot_tell_has_no_fingerprint(source: Source) -> None:
    assert LabelledSource(source, Labels(tenant="acme")).fingerprint() is None
