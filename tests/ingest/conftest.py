"""Fixtures of the syncs."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from servers import MakeCatalog, catalogs_on
from shops import Shop


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    shop = Shop(tmp_path)
    yield shop
    shop.close()


@pytest.fixture
def full_disk() -> Iterator[None]:
    """No file can grow beyond one megabyte, which programs see as a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024 * 1024, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture(
    params=[
        pytest.param(kind, marks=[pytest.mark.needs(kind), pytest.mark.slow])
        for kind in ("opensearch", "elasticsearch")
    ]
)
def make_engine(request: pytest.FixtureRequest) -> Iterator[MakeCatalog]:
    """Makes catalogs on a real server, and deletes them."""
    with catalogs_on(request.getfixturevalue(f"{request.param}_url"), request.param) as make:
        yield make
