"""Catalogs on the Elasticsearch node of the test session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from servers import MakeCatalog, catalogs_on


@pytest.fixture
def make_engine(elasticsearch_url: str) -> Iterator[MakeCatalog]:
    with catalogs_on(elasticsearch_url, "elasticsearch") as make:
        yield make
