"""A catalog that ranks by a service gives what it gives by itself."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_engines.contract import Filter
from kitpick_rescorers.intents.store import Intent
from kitpick_service.client import Refused

pytestmark = pytest.mark.needs("weights", "onnxruntime", "serve")
REQUESTS = (
    "Will it rain in Porto tomorrow?",
    "mail the price of a share to my boss",
    "paint my fence",
    "mail what was cut \ud83d to Ann",
)


def timeless(result: Any) -> Any:
    """An answer without how long it took and its id, which each opened catalog salts with its own secret.

    As plain values: floats compare to the last bit.
    """
    trace = tuple(msgspec.structs.replace(entry, milliseconds=0.0, note="") for entry in result.trace)
    return msgspec.to_builtins(msgspec.structs.replace(result, trace=trace, timings={}, id=""))


@pytest.mark.parametrize("profile", ["kitpick", "toolrerank", "rerank", "nnn", "hybrid"])
def test_answers_of_a_service_are_those_of_this_process(
    catalog: Catalog, settings: Settings, service_url: str, profile: str
) -> None:
    with Catalog.open(settings=settings, rescorer=service_url) as remote:
        for request in REQUESTS:
            here, there = catalog.search(request, profile=profile), remote.search(request, profile=profile)
            assert timeless(there) == timeless(here)
            assert there.degraded == ()


def test_sample_requests_count_through_a_service_as_well(
    catalog: Catalog, settings: Settings, service_url: str
) -> None:
    index, _ = catalog.live()
    ids = [key for key, _ in catalog.engine.hashes(index)]
    (email,) = [key for key in ids if key.endswith("send_email")]
    slang = "ping the gang about tonight"
    samples = [Intent(f"please use {key.rpartition('/')[2]}", key) for key in ids]
    catalog.add_intents([*samples, Intent("ping the team about tomorrow", email)])
    with Catalog.open(settings=settings, rescorer=service_url) as remote:
        for profile in ("hybrid", "kitpick"):
            here, there = (each.search(slang, profile=profile) for each in (catalog, remote))
            assert timeless(there) == timeless(here)
            (chosen,) = (hit for hit in there.hits if hit.id == email)
            assert "intent rank 1" in chosen.reasons[0]
            assert there.degraded == ()


def test_packing_into_a_budget_works_through_a_service(
    catalog: Catalog, settings: Settings, service_url: str
) -> None:
    with Catalog.open(settings=settings, rescorer=service_url) as remote:
        here, there = (c.search(REQUESTS[0], budget=150, filter=Filter()) for c in (catalog, remote))
    assert [hit.document.id for hit in there.hits] == [hit.document.id for hit in here.hits]


def test_without_the_service_the_first_stage_answers_and_says_why(
    catalog: Catalog, settings: Settings
) -> None:
    with Catalog.open(settings=settings, rescorer="http://127.0.0.1:9") as remote:
        found = remote.search(REQUESTS[0])
    assert found.hits
    assert found.degraded[0].stage == "rescorer"
    fused = catalog.search(REQUESTS[0], profile="hybrid")
    assert [hit.document.id for hit in found.hits] == [hit.document.id for hit in fused.hits]


def test_a_wrong_key_is_no_degradation(
    catalog: Catalog, settings: Settings, tmp_path: Any, service_url: str
) -> None:
    """An operator must hear of it: the service would never be asked again."""
    with Catalog.open(settings=settings, rescorer=service_url) as remote, pytest.raises(Refused) as refusal:
        remote.search(REQUESTS[0], 10_001, profile="bm25")
    assert refusal.value.code == "invalid"
