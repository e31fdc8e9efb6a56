"""What a reader is told must be what a catalog without the hidden documents would tell: not a score more."""

from __future__ import annotations

from asking import MakeEngine, places
from catalogs import WORDS, fill, filters, is_visible, items, vectors
from hypothesis import HealthCheck, given, settings

from kitpick_engines.contract import SearchRequest

few_examples = settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.differing_executors,  # every engine inherits the same test
    ],
)


class LeakContract:
    """Inherited by the tests of each engine, with its fixture `make_engine`."""

    @few_examples
    @given(catalog=items, wanted=filters, query=vectors)
    def test_hidden_documents_change_no_id_place_score_text_or_count(
        self, make_engine: MakeEngine, catalog, wanted, query
    ):
        whole, visible_only = make_engine(), make_engine()
        fill(whole, catalog)
        fill(visible_only, [each for each in catalog if is_visible(each.document, wanted)])
        keys = [each.document.tool_key for each in catalog]
        names = [each.document.id for each in catalog]

        for text, vector, size in ((" ".join(WORDS), query, 3), (WORDS[0], None, 50), ("", query, 50)):
            request = SearchRequest(text, vector, size, wanted)
            told, should = whole.search(request), visible_only.search(request)
            assert [places(each) for each in told] == [places(each) for each in should]
            assert [(each.text, each.vector.tobytes()) for each in told] == [
                (each.text, each.vector.tobytes()) for each in should
            ]
        for ask in (
            lambda engine: [places(each) for each in engine.neighbours(query * 2, 3, wanted)],
            lambda engine: [places(each) for each in engine.apis_of_tools(keys, wanted, 3)],
            lambda engine: engine.fetch(names, wanted),
        ):
            assert ask(whole) == ask(visible_only)
