"""Catalogs on the OpenSearch node of the test session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from servers import MakeCatalog, catalogs_on


@pytest.fixture
def make_engine(opensearch_url: str) -> Iterator[MakeCatalog]:
    with catalogs_on(opensearch_url, "opensearch") as make:
        yield make
