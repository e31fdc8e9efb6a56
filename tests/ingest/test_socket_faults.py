"""Every point of a connection to a live MCP server fails once: the catalog is as it was, or complete."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from faulty_sockets import FaultyAsyncSockets, HowBroken, Points, at_each
from shops import Shop
from test_mcp_live import serving

from kitpick_ingest.errors import SourceError
from kitpick_ingest.sources.mcp_endpoint import LiveSettings
from kitpick_ingest.sources.mcp_live import McpLiveSource
from kitpick_ingest.sync import SyncOptions, sync

pytestmark = [pytest.mark.needs("mcp"), pytest.mark.slow]


@pytest.mark.parametrize("how", ["break", "stall"])
def test_each_point_that_fails_leaves_the_catalog_as_it_was_or_complete(
    how: HowBroken, tmp_path: Path
) -> None:
    whole = Points()
    ample = LiveSettings(request_seconds=60, total_seconds=60)
    settings = LiveSettings(request_seconds=3, total_seconds=6) if how == "stall" else ample
    with serving("fine") as url:
        with closing(Shop(tmp_path / "goal")) as shop:
            assert synced(shop, McpLiveSource(url, "notes", ample, FaultyAsyncSockets(whole))) is None
            goal = content(shop)
        assert len(whole.passed) > 6

        def check(fail_at: int) -> None:
            points = Points(fail_at, how)
            with closing(Shop(tmp_path / str(fail_at))) as shop:
                error = synced(shop, McpLiveSource(url, "notes", settings, FaultyAsyncSockets(points)))
                assert content(shop) == (goal if error is None else {}), points.failed
                assert error is None or "127.0.0.1" in str(error), points.failed

        at_each(len(whole.passed), check)


def content(shop: Shop) -> dict[str, tuple[object, bytes]]:
    """Id → definition and vector. Protocols of two ages give the fields of a definition in another order."""
    live = shop.engine.live()
    items = shop.engine.documents(live[0]) if live else ()
    return {
        item.document.id: (json.loads(item.document.definition), np.asarray(item.vector).tobytes())
        for item in items
    }


def synced(shop: Shop, source: McpLiveSource) -> SourceError | None:
    """Why the source was not read; None where it was."""
    try:
        options = SyncOptions(locks=shop.folder / "locks", source_timeout=None)
        sync(source, shop.engine, shop.embedder, None, options)
    except SourceError as error:
        return error
    return None
