"""The plugin on OpenSearch 2.19, the line with long-term support: what is asked of the newest, asked of it.

Java's security manager guards such a node, and the plugin is built for Java 17 from sources of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from double import Double, answering, backwards
from opensearch_node import HERE
from plugin_node import build_for, searched
from searching import PIPELINE, QUERY, Search, documents, ids, report
from stand_ins import filter_host
from test_own_query import (  # noqa: F401
    catalog,
    served,
    test_a_filter_that_leaves_nothing_finds_nothing,
    test_filters_act_inside_the_first_stage,
    test_the_top_ten_is_that_of_python,
)
from test_rescoring import TestOrder, TestPages, well_behaved  # noqa: F401

pytestmark = [
    pytest.mark.needs("opensearch", "guarded_java", "serve", "onnxruntime", "weights"),
    pytest.mark.slow,
]
RECIPE = HERE / "opensearch-2.19"


@pytest.fixture(scope="module")
def search(double: Double, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Search]:
    """In place of the newest node: one of 2.19 with the plugin, and the index `apis` in it."""
    filtering = filter_host(tmp_path_factory.mktemp("filter-host"), RECIPE)
    folder = tmp_path_factory.mktemp("opensearch-2")
    with searched(folder, build_for(RECIPE), double, RECIPE, filtering) as client:
        yield client


@pytest.mark.parametrize("before", [True, False], ids=["before the window", "behind it"])
def test_what_is_fetched_obeys_the_pipelines_filter(search: Search, double: Double, before: bool) -> None:
    """OpenSearch 2 hands the search over as it was before any processor of the pipeline."""
    of_globex = documents(1)["d00"]
    items = {**documents(4), "x": {**of_globex, "text": "something else"}}
    search.index("filtered", items)
    window, only = PIPELINE["request_processors"][0], {"filter_term": {"field": "tenant", "value": "acme"}}
    pipeline = {"request_processors": [only, window] if before else [window, only]}
    search.put("/_search/pipeline/filtered", pipeline | {"response_processors": [{"kitpick": {}}]})
    need = {"need": {"apis_of_tools": ["Weather/tool0", "Weather/tool1"]}}
    with double.behaving(answering(lambda call: backwards(call) | need)):
        answer = search({"size": 9, "ext": {"kitpick": {"query": QUERY}}}, "filtered", "filtered")
        fetched = [each for call in double.calls for each in call.get("fetched", ())]
    assert report(answer)["status"] == "rescored"
    assert ids(answer) == ["d03", "d01"]
    assert not fetched
