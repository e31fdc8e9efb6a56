"""An evaluation of a real catalog with the shipped models: what it measures, repeats and refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from kitpick.catalog import Catalog
from kitpick.definition_tokens import DefinitionTokens
from kitpick.evaluation.measuring import Plan, judged_queries, measure
from kitpick.evaluation.systems import CatalogSystem
from kitpick.settings import Settings
from kitpick_engines.contract import Filter
from kitpick_evaluation.errors import EvaluationError, InvalidCutoff, InvalidDataset
from kitpick_evaluation.evaluate import Sampling
from kitpick_evaluation.report import Report, encode_report
from kitpick_ingest.progress import NullProgress
from kitpick_rescorers.intents.store import Intent
from kitpick_rescorers.profiles import load_profile

pytestmark = pytest.mark.needs("weights", "onnxruntime", "eval")

REQUESTS = {
    "will it rain in Paris tomorrow?": ["get_weather"],
    "tell Bob by mail that I am late": ["send_email"],
    "what are 20 euros in yen, and what does a share of Tesla cost?": ["convert_currency", "get_stock_price"],
}
PLAN = Plan(profiles=("bm25", "kitpick"), timed=1, sampling=Sampling(cutoffs=(1, 5), resamples=100))


@pytest.fixture
def functions_file(functions_file: Path) -> Path:
    """Under a name that no tool had which the cross-encoder was trained on: `functions` was one."""
    return functions_file.rename(functions_file.with_name("assistant.json"))


@pytest.fixture
def catalog(settings: Settings, functions_file: Path) -> Iterator[Catalog]:
    with Catalog.open(settings=settings) as opened:
        opened.ingest(f"functions:{functions_file}")
        yield opened


def api_id(catalog: Catalog, name: str) -> str:
    live = catalog.engine.live()
    assert live is not None
    return next(id_ for id_, _ in catalog.engine.hashes(live[0]) if id_.endswith(name))


@pytest.fixture
def queries(catalog: Catalog, tmp_path: Path) -> Path:
    file = tmp_path / "queries.jsonl"
    lines = [
        {"query": text, "relevant": [api_id(catalog, name) for name in names]}
        for text, names in REQUESTS.items()
    ]
    file.write_text("\n".join(json.dumps(line) for line in lines))
    return file


def measured(catalog: Catalog, queries: Path, plan: Plan = PLAN) -> Report:
    return measure(judged_queries(catalog, queries, plan), plan, NullProgress())


def test_a_report_tells_quality_tokens_time_and_abstention(catalog: Catalog, queries: Path) -> None:
    report = measured(catalog, queries)
    assert report.complete
    assert report.overall("kitpick").figures["recall@5"] == 1.0
    assert report.row("single", "kitpick", "kind").queries == 3, "a file of functions is one tool"
    assert report.row("2", "kitpick", "relevant").queries == 1
    assert {row.subset for row in report.rows if row.facet == "seen"} == {"unseen"}
    assert [cost.profile for cost in report.costs] == ["bm25", "kitpick"]
    assert report.costs[1].tokens > 50
    assert report.timings[1].median > 0
    (sure,) = report.abstention
    assert sure.profile == "kitpick", "the only one that can abstain"
    assert sure.auc > 0.5


def test_the_first_profile_is_tested_against_each_other_one(catalog: Catalog, queries: Path) -> None:
    plan = msgspec.structs.replace(PLAN, profiles=("bm25", "dense", "kitpick"), tested=("ndcg@5", "mrr"))
    tests = measured(catalog, queries, plan).differences
    pairs = [({test.better, test.worse}, test.figure) for test in tests]
    assert pairs == [({"bm25", name}, figure) for name in ("dense", "kitpick") for figure in plan.tested]


def test_the_same_seed_gives_the_same_bytes_but_for_the_times(catalog: Catalog, queries: Path) -> None:
    one, other = (measured(catalog, queries) for _ in range(2))
    assert encode_report(msgspec.structs.replace(one, timings=())) == encode_report(
        msgspec.structs.replace(other, timings=())
    )


@pytest.mark.parametrize("request_", ["will it rain? " + "word " * 10_000, "θα βρέξει αύριο στο Παρίσι;"])
def test_a_request_that_is_not_read_in_full_is_measured_too(catalog: Catalog, request_: str) -> None:
    assert catalog.search(request_).degraded
    assert CatalogSystem(catalog, load_profile("kitpick"), DefinitionTokens()).ask(request_, 5).ids


def test_a_request_deprived_of_its_tools_does_not_find_them(catalog: Catalog) -> None:
    system = CatalogSystem(catalog, load_profile("kitpick"), DefinitionTokens())
    found = system.ask("will it rain?", 5).ids[0]
    (document,) = catalog.engine.fetch([found], Filter())
    deprived = system.ask_without("will it rain?", 8, frozenset({document.tool_key}))
    assert found not in deprived.ids


def test_sample_requests_do_not_bring_hidden_tools_back(catalog: Catalog) -> None:
    system = CatalogSystem(catalog, load_profile("hybrid"), DefinitionTokens())
    weather = api_id(catalog, "get_weather")
    catalog.add_intents([Intent("will it rain?", weather)])
    (document,) = catalog.engine.fetch([weather], Filter())
    assert weather in system.ask("will it rain?", 8).ids
    assert weather not in system.ask_without("will it rain?", 8, frozenset({document.tool_key})).ids


def test_k_above_the_size_of_the_catalog_is_refused(catalog: Catalog, queries: Path) -> None:
    plan = msgspec.structs.replace(PLAN, sampling=Sampling(cutoffs=(5, 9)))
    with pytest.raises(InvalidCutoff, match="size of 8"):
        measured(catalog, queries, plan)


def test_a_degraded_profile_is_not_evaluated(catalog: Catalog, queries: Path, tmp_path: Path) -> None:
    profile = tmp_path / "enough.toml"
    profile.write_text('name = "enough"\n[[stages]]\nstage = "fuse"\n[[stages]]\nstage = "enough"\n')
    with pytest.raises(EvaluationError, match="ran degraded: enough"):
        measured(catalog, queries, msgspec.structs.replace(PLAN, profiles=(str(profile),)))


def test_requests_for_unknown_apis_are_refused(catalog: Catalog, tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text('{"query": "fly me to the moon", "relevant": ["rockets/launch"]}')
    with pytest.raises(InvalidDataset, match=r"catalog lacks.*'rockets/launch'"):
        judged_queries(catalog, file, PLAN)
