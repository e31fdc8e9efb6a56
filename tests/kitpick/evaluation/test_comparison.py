"""Systems side by side over a real catalog: profiles, another catalog, and a run file."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from kitpick.catalog import Catalog
from kitpick.evaluation.comparison import Wishes, compare
from kitpick.evaluation.measuring import Judged, Plan, judged_queries
from kitpick.evaluation.systems import InvalidSystem, parse_system
from kitpick.settings import Settings
from kitpick_evaluation.comparison import Comparison
from kitpick_evaluation.errors import EvaluationError
from kitpick_evaluation.evaluate import Sampling
from kitpick_ingest.progress import NullProgress

pytestmark = pytest.mark.needs("weights", "onnxruntime", "eval")

PLAN = Plan(profiles=("bm25", "dense"), timed=1, sampling=Sampling(cutoffs=(1, 5), resamples=50))
WISHES = Wishes(figures=("ndcg@5", "comp@1"), changed=2)


@pytest.fixture
def judged(catalog: Catalog, tmp_path: Path) -> Judged:
    live = catalog.engine.live()
    assert live is not None
    ids = {id_.rpartition("/")[2]: id_ for id_, _ in catalog.engine.hashes(live[0])}
    asks = {
        "will it rain in Paris?": "get_weather",
        "mail Bob": "send_email",
        "20 euros in yen": "convert_currency",
    }
    lines = [{"query": text, "relevant": [ids[name]], "id": name} for text, name in asks.items()]
    file = tmp_path / "queries.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines))
    return judged_queries(catalog, file, PLAN)


def compared(judged: Judged, *systems: str) -> Comparison:
    return compare(judged, [parse_system(text) for text in systems], PLAN, WISHES, NullProgress())


def test_profiles_are_compared_with_traces_of_what_changed(judged: Judged) -> None:
    found = compared(judged, "bm25", "dense", "kitpick")
    assert found.report.profiles == ("bm25", "dense", "kitpick")
    assert len(found.tests) == 3 * 2
    assert found.changed, "words and vectors do not agree on all of them"
    assert all("fuse" in side.explanation for changed in found.changed for side in changed.sides)
    assert found.calibration["kitpick"]
    assert not found.calibration["bm25"]


def test_a_run_of_another_system_takes_part(judged: Judged, tmp_path: Path) -> None:
    run = tmp_path / "other.run"
    run.write_text(
        "\n".join(f"{query.id} Q0 {next(iter(query.relevant))} 1 1.0 oracle" for query in judged.queries)
    )
    found = compared(judged, "bm25", f"run:{run}")
    assert found.report.overall(f"run:{run}").figures["recall@5"] == 1.0
    assert [timing.profile for timing in found.report.timings] == ["bm25"]


def test_an_engine_of_its_own_answers_for_a_system(
    judged: Judged, functions_file: Path, tmp_path: Path, settings: Settings
) -> None:
    url = f"sqlite:{tmp_path / 'other.db'}"
    with Catalog.open(url, settings=settings) as other:
        other.ingest(f"functions:{functions_file}")
    found = compared(judged, "hybrid", f"hybrid,catalog={url}")
    assert found.changed == (), "the same documents in the same engine answer the same"
    assert {test.corrected for test in found.tests} == {1.0}


def test_two_runs_are_equal_but_for_the_times(judged: Judged) -> None:
    def timeless(found: Comparison) -> bytes:
        report = msgspec.structs.replace(found.report, timings=())
        explained = [
            [msgspec.structs.replace(side, explanation="") for side in changed.sides]
            for changed in found.changed
        ]
        return msgspec.json.encode([report, found.tests, explained])

    assert timeless(compared(judged, "bm25", "dense")) == timeless(compared(judged, "bm25", "dense"))


def test_one_system_or_the_same_twice_is_no_comparison(judged: Judged) -> None:
    with pytest.raises(EvaluationError, match="two systems"):
        compared(judged, "bm25")
    with pytest.raises(EvaluationError, match="named once"):
        compared(judged, "bm25", "bm25")


def test_a_system_is_read_as_it_is_written() -> None:
    found = parse_system("kitpick,encoder=e5,catalog=sqlite:a.db")
    assert (found.profile, found.catalog, found.models) == ("kitpick", "sqlite:a.db", {"encoder": "e5"})
    assert parse_system("run:x/y.run").run == Path("x/y.run")


@pytest.mark.parametrize(
    "text", ["", ",encoder=x", "kitpick,encodr=x", "kitpick,encoder", "kitpick,encoder="]
)
def test_what_names_no_system_is_refused(text: str) -> None:
    with pytest.raises(InvalidSystem):
        parse_system(text)
