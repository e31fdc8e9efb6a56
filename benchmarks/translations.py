"""Searches whose requests a scripted endpoint puts into English, for `scripts/bench speech`."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "language_models"))

from fake_endpoint import FakeEndpoint

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_rescorers.profiles import Profile, load_profile

DEPTH = 5


def scripted_translations(
    file: Path, profile: str, english: Mapping[str, str], right: Sequence[Collection[str]]
) -> tuple[dict[str, float], dict[str, float]]:
    """R@5 by way, and what the translations cost.

    Args:
        file: a catalog that is filled.
        profile: of the searches.
        english: a request of another language → the English one.
        right: ids of what is right, for each request.
    """
    plain = load_profile(profile)
    chosen = replace(plain, first_stage=replace(plain.first_stage, translate=True))
    said: list[str] = []

    def answer(body: dict[str, Any]) -> str:
        said.append(json.dumps({"english": english[json.loads(body["messages"][1]["content"])["request"]]}))
        return said[-1]

    with FakeEndpoint(answer, ["well"]) as endpoint, FakeEndpoint(answer, ["500"]) as failing:
        found = {
            "translated": _recall(file, endpoint.url, chosen, list(english), right),
            "failed": _recall(file, failing.url, chosen, list(english), right),
            "foreign": _recall(file, "", plain, list(english), right),
            "english": _recall(file, "", plain, list(english.values()), right),
        }
        sent = [sum(len(each["content"]) for each in body["messages"]) for body in endpoint.asked]
    return found, {
        "translation_calls": len(sent) / len(english),
        "characters_sent": sum(sent) / max(1, len(sent)),
        "characters_answered": sum(map(len, said)) / max(1, len(said)),
    }


def _recall(
    file: Path, url: str, profile: Profile, requests: Sequence[str], right: Sequence[Collection[str]]
) -> float:
    settings = replace(Settings(), llm_url=url, llm_model="scripted")
    shares = []
    with Catalog.open(f"sqlite:{file}", settings=settings) as catalog:
        for request, wanted in zip(requests, right, strict=True):
            hits = catalog.search(request, DEPTH, profile=profile).hits
            shares.append(len({hit.document.id for hit in hits} & {*wanted}) / len(wanted))
    return sum(shares) / len(shares)
