"""The lexical ranking equals BM25F written down plainly, over what the filter shows and nothing else."""

from __future__ import annotations

import math
from contextlib import closing

import pytest
from asking import ids, places, property_test
from catalogs import WORDS, fill, filters, is_visible, item, items, vectors
from hypothesis import given
from hypothesis import strategies as st

from kitpick_engines.contract import Filter, SearchRequest
from kitpick_engines.document import ApiDocument
from kitpick_engines.sqlite import LexicalWeights, SqliteEngine, SqliteSettings
from kitpick_engines.text import lexical_fields

WEIGHTS = {"api": 2.0, "tool": 2.0, "category": 1.0, "description": 1.0, "parameters": 0.5, "examples": 1.0}
STEMS = {"city": "citi"}
"""Porter's stem of the only word of `WORDS` that he changes."""


def words(text: str) -> list[str]:
    return [STEMS.get(word.lower(), word.lower()) for word in text.split()]


def reference(documents: list[ApiDocument], query: list[str]) -> dict[str, float]:
    """BM25F with k1 = 1.2 and b = 0.75 by id; documents without a word of the query are left out."""
    texts = {d.id: {field: words(text) for field, text in lexical_fields(d).items()} for d in documents}
    n = len(texts)
    average = (
        {field: sum(len(fields[field]) for fields in texts.values()) / n for field in WEIGHTS} if n else {}
    )
    scores: dict[str, float] = {}
    for term in {STEMS.get(word, word) for word in query}:
        frequency = {}
        for name, fields in texts.items():
            parts = [
                WEIGHTS[field]
                * fields[field].count(term)
                / (0.25 + 0.75 * len(fields[field]) / average[field])
                for field in WEIGHTS
                if term in fields[field]
            ]
            if parts:
                frequency[name] = sum(parts)
        idf = math.log(1 + (n - len(frequency) + 0.5) / (len(frequency) + 0.5))
        for name, f in frequency.items():
            scores[name] = scores.get(name, 0.0) + idf * f * 2.2 / (f + 1.2)
    return scores


@pytest.fixture
def make_engine(tmp_path):
    numbers = iter(range(10_000))
    opened = []

    def make() -> SqliteEngine:
        opened.append(SqliteEngine(tmp_path / f"{next(numbers)}.db"))
        return opened[-1]

    yield make
    for engine in opened:
        engine.close()


@property_test
@given(catalog=items, wanted=filters, query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4))
def test_scores_and_order_are_those_of_the_formula(make_engine, catalog, wanted, query):
    engine = make_engine()
    fill(engine, catalog)
    found = engine.search(SearchRequest(" ".join(query), None, 100, wanted))
    expected = reference([each.document for each in catalog if is_visible(each.document, wanted)], query)
    assert {c.id: c.lexical.score for c in found} == pytest.approx(expected)
    assert ids(found) == [c.id for c in sorted(found, key=lambda c: (-c.lexical.score, c.id))]


@property_test
@given(catalog=items, wanted=filters, query=vectors)
def test_what_is_invisible_leaves_no_trace(make_engine, catalog, wanted, query):
    whole, visible_only = make_engine(), make_engine()
    fill(whole, catalog)
    fill(visible_only, [each for each in catalog if is_visible(each.document, wanted)])
    request = SearchRequest("weather city song", query, 3, wanted)
    assert [places(c) for c in whole.search(request)] == [places(c) for c in visible_only.search(request)]


def test_the_weights_are_those_of_the_settings(tmp_path):
    both = [
        item("s/t/name", api="weather", description="other"),
        item("s/t/prose", api="other", description="weather"),
    ]
    for number, weights in enumerate((LexicalWeights(api=5.0), LexicalWeights(description=20.0))):
        with closing(SqliteEngine(tmp_path / f"{number}.db", SqliteSettings(weights))) as engine:
            fill(engine, both)
            first, _ = engine.search(SearchRequest("weather", None, 2))
            assert first.id == ("s/t/name", "s/t/prose")[number]


def test_inflected_words_of_a_request_count_once(tmp_path):
    with closing(SqliteEngine(tmp_path / "tools.db")) as engine:
        fill(engine, [item(description="a song"), item("s/t/b", description="other")])
        scores = [
            engine.search(SearchRequest(text, None, 5, Filter()))[0].lexical.score
            for text in ("song", "songs song Songs")
        ]
        assert scores[0] == scores[1]
