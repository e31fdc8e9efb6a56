"""The plugin on OpenSearch 2.19, the line with long-term support: what is asked of the newest, asked of it.

Java's security manager guards such a node, and the plugin is built for Java 17 from sources of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from double import Double
from opensearch_node import HERE
from plugin_node import build_for, searched
from searching import Search
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
    with searched(tmp_path_factory.mktemp("opensearch-2"), build_for(RECIPE), double, RECIPE) as client:
        yield client
