"""Texts that a model does not read to their end are counted, with examples and the cure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from kitpick_engines.text import rerank_text, retrieval_text
from kitpick_ingest.cut_texts import CutTextCounts, TextBound
from kitpick_ingest.sync import SyncOptions, sync
from tests.ingest.shops import Listed, Shop, api


def longer(texts: Sequence[str], words: int) -> list[bool]:
    return [len(text.split()) > words for text in texts]


ENCODER = TextBound("encoder", 20, "", retrieval_text, longer)
PAIRS = TextBound("cross-encoder", 30, "a request of 16", rerank_text, longer)
LONG = "returns one " * 12


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "shop")


def report(shop: Shop, *documents: object, bounds: Sequence[TextBound] = (ENCODER, PAIRS)):
    options = SyncOptions(locks=shop.folder / "locks", bounds=bounds)
    source = Listed("pets", documents)
    return sync(source, shop.engine, shop.embedder, shop.cache, options).cut_texts


def test_a_report_counts_what_is_longer_than_a_model_reads(shop: Shop) -> None:
    long = [api(f"long{number}", LONG) for number in range(5)]
    (cut,) = report(shop, *long, api("short", "Returns one"))
    assert (cut.model, cut.documents, cut.of) == ("encoder", 5, 6)
    assert cut.examples == tuple(each.id for each in long[:3])
    says = "the encoder reads 20 tokens of an API's text; 5 of 6 are longer ("
    assert cut.told().startswith(says + cut.examples[0])
    assert ", …): what stands at the end" in cut.told()


def test_only_what_was_added_or_changed_is_told(shop: Shop) -> None:
    documents = api("short", "Returns one"), api("long", LONG)
    (cut,) = report(shop, *documents)
    assert ", …" not in cut.told()
    assert report(shop, *documents) == ()
    (cut,) = report(shop, api("short", LONG + "!"), documents[1])
    assert (cut.documents, cut.of) == (1, 1)


def test_each_model_is_told_with_what_else_it_reads(shop: Shop) -> None:
    found = report(shop, api("long", LONG * 3))
    assert [cut.model for cut in found] == ["encoder", "cross-encoder"]
    assert "30 tokens of an API's text beside a request of 16;" in found[1].told()


def test_nothing_is_told_where_nothing_is_cut_or_no_bound_is_known(shop: Shop) -> None:
    assert report(shop, api("short", "Returns one")) == ()
    assert report(shop, api("short", LONG), bounds=()) == ()


def test_bounds_are_asked_for_only_where_there_are_documents() -> None:
    def bounds():
        raise AssertionError("nobody asked")
        yield ENCODER

    assert CutTextCounts(bounds()).found() == ()
