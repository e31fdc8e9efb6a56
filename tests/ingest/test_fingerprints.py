"""A source is read again only where it, what reads it, or its part of the index is not what it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from shops import Shop, api

from kitpick_engines.document import ApiDocument
from kitpick_ingest import fingerprints
from kitpick_ingest.errors import SourceError
from kitpick_ingest.fingerprints import fingerprint_of
from kitpick_ingest.source import DeadLetter
from kitpick_ingest.sources.botocore_models import BotocoreSource
from kitpick_ingest.sources.google_discovery import GoogleDiscoverySource
from kitpick_ingest.sources.openapi import OpenApiSource
from kitpick_ingest.sync import SyncOptions, SyncReport, sync


class Files:
    """Yields a document a line of a file, and counts how often it is read."""

    def __init__(self, path: Path, name: str = "pets") -> None:
        self.path, self.name, self.reads = path, name, 0

    def read(self) -> Iterator[ApiDocument | DeadLetter]:
        self.reads += 1
        for line in self.path.read_text().splitlines():
            yield api(line, source=self.name) if line else DeadLetter(self.name, "line", "empty")

    def fingerprint(self) -> str:
        return fingerprints.file_fingerprint([self.path])


@pytest.fixture
def source(tmp_path: Path) -> Files:
    path = tmp_path / "pets.txt"
    path.write_text("feed\nwalk\nwash")
    return Files(path)


def run(shop: Shop, source: Files, **options: object) -> SyncReport:
    options = {"locks": shop.folder / "locks", "dead_letters": shop.letters, **options}
    return sync(source, shop.engine, shop.embedder, shop.cache, SyncOptions(**options))  # type: ignore[arg-type]


def test_what_has_not_changed_is_not_read_again_and_the_report_says_so(shop: Shop, source: Files) -> None:
    run(shop, source)
    state = shop.state()
    report = run(shop, source)
    assert (source.reads, report.unchanged, report.added, report.deleted) == (1, 3, 0, 0)
    assert "not read" in report.notes[0]
    assert shop.state() == state


def test_a_source_is_read_again_for_vectors_that_were_lost(shop: Shop, source: Files) -> None:
    run(shop, source)
    state = shop.state()
    (vectors,) = (shop.folder / "catalog.db.vectors").iterdir()
    vectors.write_bytes(bytes(vectors.stat().st_size))
    assert run(shop, source).changed == 3
    assert (source.reads, shop.state()) == (2, state)


def test_a_changed_file_is_read(shop: Shop, source: Files) -> None:
    run(shop, source)
    source.path.write_text("feed\nwalk\nsell")
    report = run(shop, source)
    assert (source.reads, report.added, report.deleted) == (2, 1, 1)


def test_an_index_that_somebody_else_changed_is_put_right(shop: Shop, source: Files) -> None:
    run(shop, source)
    live = shop.engine.live()
    assert live is not None
    with shop.engine.writing(live[0]) as writer:
        writer.delete(["pets/shop/walk"])
    assert run(shop, source).added == 1
    assert source.reads == 2


def test_other_sources_do_not_matter(shop: Shop, source: Files) -> None:
    run(shop, source)
    shop.sync(api("fry", source="food"), source="food")
    run(shop, source)
    assert source.reads == 1


def test_a_file_that_changes_while_it_is_read_is_read_again(shop: Shop, source: Files) -> None:
    class Changing(Files):
        def read(self) -> Iterator[ApiDocument | DeadLetter]:
            yield from super().read()
            self.path.write_text("feed\nwalk\nsell")

    run(shop, Changing(source.path))
    assert run(shop, source).added == 1


def test_other_code_reads_again(shop: Shop, source: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    run(shop, source)
    monkeypatch.setattr(fingerprints, "_code", lambda: "a later version")
    run(shop, source)
    assert source.reads == 2


def test_another_model_moves_the_catalog_without_reading(shop: Shop, source: Files) -> None:
    run(shop, source)
    shop.embedder.identity = "hash@2"
    report = run(shop, source)
    assert (source.reads, report.rebuilt, report.unchanged) == (1, 3, 3)
    assert shop.schema().model == "hash@2"


def test_what_was_left_out_is_named_by_every_run(shop: Shop, source: Files) -> None:
    source.path.write_text("feed\n\nwalk")
    assert [run(shop, source).dead_letters for _ in range(2)] == [1, 1]


def test_reading_can_be_demanded(shop: Shop, source: Files) -> None:
    run(shop, source)
    run(shop, source, reread=True)
    assert source.reads == 2


@pytest.mark.parametrize("content", [b"", b"{", b'{"fingerprint": 1}'])
def test_a_broken_memory_costs_only_time(shop: Shop, source: Files, content: bytes) -> None:
    run(shop, source)
    (memory,) = (shop.folder / "locks").glob("*.synced")
    memory.write_bytes(content)
    assert run(shop, source).unchanged == 3
    assert source.reads == 2


def test_a_source_that_is_gone_fails_as_ever(shop: Shop, source: Files) -> None:
    run(shop, source)
    source.path.unlink()
    with pytest.raises(SourceError, match="FileNotFound"):
        run(shop, source)


def test_fingerprints_of_descriptions_follow_their_files(tmp_path: Path) -> None:
    file = tmp_path / "api.json"
    for kind in (OpenApiSource, GoogleDiscoverySource):
        file.write_text(json.dumps({"openapi": "3.1.0"}))
        before = fingerprint_of(kind(tmp_path, "name"))
        assert before == fingerprint_of(kind(tmp_path, "name")) is not None
        assert before != fingerprint_of(kind(tmp_path, "other"))
        file.write_text(json.dumps({"openapi": "3.1.1"}))
        assert before != fingerprint_of(kind(tmp_path, "name"))
        assert fingerprint_of(kind(tmp_path / "missing", "name")) is None


@pytest.mark.needs("botocore")
def test_fingerprints_of_aws_models_follow_the_services() -> None:
    assert fingerprint_of(BotocoreSource(["sqs"])) == fingerprint_of(BotocoreSource(["sqs"]))
    assert fingerprint_of(BotocoreSource(["sqs"])) != fingerprint_of(BotocoreSource(["sns"]))
    assert fingerprint_of(BotocoreSource(["no-such-service"])) is None
