"""What is recorded of a request answers as the catalog does, with the shipped models."""

from __future__ import annotations

import itertools
from importlib.resources import files
from pathlib import Path

import pytest
from msgspec.structs import replace

from kitpick.catalog import Catalog
from kitpick_engines.contract import Filter
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.recording import Recorded
from kitpick_rescorers.intents.store import Intent
from kitpick_rescorers.profiles import Profile, load_profile
from kitpick_rescorers.search import ALL_RANKINGS, IndexFetcher

pytestmark = pytest.mark.needs("weights", "onnxruntime", "eval")

SETTINGS = {
    ("fuse", "lexical"): (0.5, 2.0),
    ("blend", "rank_weight"): (0.0, 1.0),
    ("concentrate", "least"): (0.0, 0.95),
    ("concentrate", "threshold"): (0.1, 0.7),
}


@pytest.fixture
def concentrating(tmp_path: Path) -> str:
    """The default profile, which also fetches the rest of a tool: a stage that asks for documents."""
    shipped = files("kitpick_rescorers.profiles").joinpath("kitpick.toml").read_text("utf-8")
    profile = tmp_path / "concentrating.toml"
    profile.write_text(f'{shipped}\n[[stages]]\nstage = "concentrate"\nwhen = "single"\nleast = 0.95\n')
    return str(profile)


@pytest.mark.parametrize("sampled", [False, True], ids=["without samples", "with samples"])
def test_a_recorded_request_answers_exactly_as_the_catalog_does(
    catalog: Catalog, asks: dict[str, str], concentrating: str, sampled: bool
) -> None:
    if sampled:
        catalog.add_intents([Intent(f"{text} please", api) for text, api in asks.items()])
    base = load_profile(concentrating)
    models, _ = catalog.models.for_needs(base.needs())
    for text in ("will it rain in Paris?", "mail Bob and book a flight"):
        query = catalog.way.prepare(text, ALL_RANKINGS)
        _, request = catalog.way.candidates(query, ALL_RANKINGS, 200, Filter())
        assert any(candidate.intent for candidate in request.candidates) == sampled
        fetcher = IndexFetcher(catalog.engine, Filter())
        recorded = Recorded.of(JudgedQuery("1", text, frozenset("a")), request, fetcher)
        for values in itertools.product(*SETTINGS.values()):
            profile = _with(base, dict(zip(SETTINGS, values, strict=True)))
            expected = catalog.search(text, 5, profile=profile)
            found = recorded.answer(profile, models, 5)
            assert found.ids == tuple(hit.document.id for hit in expected.hits)
            assert found.scores == tuple(hit.score for hit in expected.hits)


def _with(profile: Profile, values: dict[tuple[str, str], float]) -> Profile:
    """The profile with other values of some fields."""
    changed = {
        stage: {field: value for (of, field), value in values.items() if of == stage} for stage, _ in values
    }
    stages = tuple(replace(stage, **changed.get(stage.name, {})) for stage in profile.stages)
    return replace(profile, stages=stages)
