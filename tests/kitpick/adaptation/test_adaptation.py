"""The threshold of a profile, fitted to a real catalog with the shipped models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kitpick.adaptation.adapting import (
    Adapted,
    Aim,
    adapt_to_descriptions,
    adapt_to_held_out,
    adapt_to_requests,
)
from kitpick.catalog import Catalog
from kitpick.evaluation.measuring import Judged, Plan
from kitpick.settings import Settings
from kitpick_evaluation.errors import EvaluationError
from kitpick_ingest.progress import NullProgress
from kitpick_rescorers.profiles import Profile, load_profile, parse_profile, profile_toml
from kitpick_rescorers.stages import Abstain, Learned

pytestmark = pytest.mark.needs("weights", "onnxruntime", "eval")
PLAN = Plan(profiles=("kitpick",))


@pytest.fixture(scope="module")
def queues(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    pytest.importorskip("botocore")
    folder = tmp_path_factory.mktemp("queues")
    settings = Settings(catalog=f"sqlite:{folder / 'catalog.db'}", embedding_cache=folder / "embeddings.db")
    with Catalog.open(settings=settings) as opened:
        opened.ingest("botocore:sqs,sts")
        yield opened


@pytest.fixture(scope="module")
def by_descriptions(queues: Catalog) -> Adapted:
    return adapt_to_descriptions(queues, "kitpick", PLAN, NullProgress())


def threshold_of(profile: Profile) -> float | None:
    (found,) = (stage.threshold for stage in profile.stages if isinstance(stage, Learned))
    return found


def test_descriptions_of_the_catalog_choose_the_threshold(by_descriptions: Adapted) -> None:
    report = by_descriptions.report
    assert (report.basis, report.asked, report.most_false) == ("descriptions", 34, None)
    assert threshold_of(by_descriptions.profile) == report.threshold
    assert report.caught >= report.caught_before or report.threshold < report.threshold_before
    assert by_descriptions.profile.name == "kitpick-adapted"


@pytest.mark.release
def test_the_same_descriptions_choose_the_same_threshold(queues: Catalog, by_descriptions: Adapted) -> None:
    """Judged requests do so in every run: `tests/kitpick/cli/test_adapt.py`."""
    again = adapt_to_descriptions(queues, "kitpick", PLAN, NullProgress())
    assert again.report == by_descriptions.report


def test_an_adapted_profile_searches_as_the_one_it_comes_from_but_for_its_verdict(
    queues: Catalog, by_descriptions: Adapted
) -> None:
    adapted = by_descriptions.profile
    written = parse_profile(profile_toml(adapted), "adapted.toml")
    assert written == adapted
    text = "send a message to a queue"
    plain, fitted = queues.search(text, 5), queues.search(text, 5, profile=written)
    assert [hit.document.id for hit in fitted.hits] == [hit.document.id for hit in plain.hits]
    assert not fitted.abstained
    assert queues.search("book a table at an Italian restaurant", 5, profile=written).unlikely


def test_judged_requests_choose_the_threshold(judged: Judged) -> None:
    adapted = adapt_to_requests(judged, "kitpick", PLAN, NullProgress(), Aim(0.2))
    report = adapted.report
    assert (report.basis, report.asked, report.most_false) == ("requests", len(judged.queries), 0.2)
    assert report.most_false_at_worst == pytest.approx(0.310, abs=0.001)
    refused = [
        judged.catalog.search(query.text, 5, profile=adapted.profile).abstained for query in judged.queries
    ]
    assert sum(refused) == 2, "what is below the third smallest of eighteen"
    assert "18 requests are too few to fit the vectors to" in report.left


def test_judged_requests_choose_a_threshold_that_holds_with_confidence(judged: Judged) -> None:
    adapted = adapt_to_requests(
        judged, "kitpick", PLAN, NullProgress(), Aim(0.2, confident=True), vectors=False
    )
    report = adapted.report
    assert (report.asked, report.most_false, report.most_false_at_worst) == (18, 0.2, 0.2)
    refused = [
        judged.catalog.search(query.text, 5, profile=adapted.profile).abstained for query in judged.queries
    ]
    assert sum(refused) == 0, "what is below the smallest of eighteen: it takes 22 for the second"
    with pytest.raises(EvaluationError, match="it takes 59"):
        adapt_to_requests(judged, "kitpick", PLAN, NullProgress(), Aim(0.05, confident=True))


def test_held_out_catalogs_choose_a_threshold_where_nobody_judged_requests(queues: Catalog) -> None:
    adapted = adapt_to_held_out(queues, "kitpick", 0.05)
    report = adapted.report
    assert (report.basis, report.most_false, report.most_false_at_worst) == ("held-out", 0.05, 0.05)
    assert threshold_of(adapted.profile) == report.threshold
    assert "MCP servers" in report.sample
    assert [stage.overrules for stage in adapted.profile.stages if isinstance(stage, Learned)] == [True]
    with pytest.raises(EvaluationError, match="it takes 2995"):
        adapt_to_held_out(queues, "kitpick", 0.001)
    with pytest.raises(EvaluationError, match="no list ranker that decides"):
        adapt_to_held_out(queues, "hybrid")


def test_where_the_cross_encoder_decides_its_threshold_is_chosen(judged: Judged, tmp_path: Path) -> None:
    stages = tuple(stage for stage in load_profile("kitpick").stages if not isinstance(stage, Learned))
    file = tmp_path / "plain.toml"
    file.write_text(profile_toml(Profile("plain", stages)))
    adapted = adapt_to_requests(judged, str(file), PLAN, NullProgress(), Aim(0.2))
    (threshold,) = (stage.threshold for stage in adapted.profile.stages if isinstance(stage, Abstain))
    assert threshold == adapted.report.threshold
    with pytest.raises(EvaluationError, match="no list ranker that learned from descriptions"):
        adapt_to_descriptions(judged.catalog, str(file), PLAN, NullProgress())


def test_what_cannot_be_adapted_says_why(judged: Judged) -> None:
    with pytest.raises(EvaluationError, match="it takes 19"):
        adapt_to_requests(judged, "kitpick", PLAN, NullProgress())
    with pytest.raises(EvaluationError, match=r"8 APIs of .* it takes 20"):
        adapt_to_descriptions(judged.catalog, "kitpick", PLAN, NullProgress())
    with pytest.raises(EvaluationError, match="18 requests are too few to fit the vectors to: it takes 20"):
        adapt_to_requests(judged, "hybrid", PLAN, NullProgress(), Aim(0.2))
    for profile, vectors in (("hybrid", False), ("bm25", True)):
        with pytest.raises(EvaluationError, match="never abstains"):
            adapt_to_requests(judged, profile, PLAN, NullProgress(), vectors=vectors)
    with pytest.raises(
        EvaluationError, match=r"never abstains: .* fitted to judged requests, with --queries"
    ):
        adapt_to_descriptions(judged.catalog, "hybrid", PLAN, NullProgress())


@pytest.mark.parametrize("profile", ["dense", "hybrid", "kitpick"])
def test_judged_requests_teach_the_words_of_the_house(slang: Judged, profile: str) -> None:
    adapted = adapt_to_requests(slang, profile, PLAN, NullProgress())
    report = adapted.report
    assert report.turned
    assert report.ndcg5 is not None
    assert report.ndcg5_before is not None
    assert report.ndcg5 > report.ndcg5_before + 0.1
    assert report.gap is not None
    assert report.gap < 1e-3
    assert (report.threshold is None) == (profile != "kitpick"), "the others never abstain"
    assert adapted.profile.name == f"{profile}-adapted"


def test_the_threshold_alone_is_fitted_where_vectors_are_to_stay(slang: Judged) -> None:
    adapted = adapt_to_requests(slang, "kitpick", PLAN, NullProgress(), vectors=False)
    assert (adapted.matrix, adapted.report.turned, adapted.report.ndcg5) == (None, False, None)
    assert adapted.report.threshold is not None
