"""`kitpick eval` and its neighbours: requests as people judge them, and mistakes that are found in time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kitpick.catalog import Catalog
from kitpick.errors import ExitCode
from kitpick.settings import Settings
from kitpick_rescorers.profiles import shipped_profiles

pytestmark = pytest.mark.needs("weights", "onnxruntime", "eval")


@pytest.fixture
def file_of(catalog: Catalog, tmp_path: Path) -> Callable[..., Path]:
    """Writes judged requests: the last parts of the ids stand for the whole."""
    index, _ = catalog.live()
    ids = {key.rpartition("/")[2]: key for key, _ in catalog.engine.hashes(index)}

    def whole(item: Any) -> Any:
        return ids[item] if isinstance(item, str) else [whole(one) for one in item]

    def write(*lines: dict[str, Any]) -> Path:
        path = tmp_path / "requests.jsonl"
        path.write_text(
            "\n".join(json.dumps({**line, "relevant": whole(line["relevant"])}) for line in lines)
        )
        return path

    return write


def report_of(ran: Any) -> dict[str, Any]:
    assert ran.code == ExitCode.OK, ran.err
    return json.loads(ran.out)


RAIN = {"query": "will it rain in Paris?", "relevant": ["get_weather"]}
MAIL = {"query": "write an email to Bob", "relevant": ["send_email"]}


def test_requests_that_nothing_answers_judge_abstention(file_of, kitpick) -> None:
    file = file_of(
        RAIN,
        MAIL,
        {"query": "paint the fence green", "relevant": []},
        {"query": "feed the cat", "relevant": []},
        {"query": "iron my shirts", "relevant": []},
    )
    asked = ("eval", "--queries", str(file), "-p", "kitpick", "-k", "5", "--timed", "0", "--json")
    report = report_of(kitpick(*asked))
    assert report["queries"] == 5
    assert report["rows"][0]["queries"] == 2, "quality is measured where there is something to find"
    assert report["rows"][0]["figures"]["recall@5"] == 1.0
    (sure,) = report["abstention"]
    assert (sure["answerable"], sure["unanswerable"]) == (2, 3)
    assert sure["caught"] >= 2 / 3


def test_requests_that_nothing_answers_are_part_of_what_a_baseline_was_measured_on(
    file_of, kitpick, tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    asked = ("-p", "bm25", "-k", "5", "--timed", "0")
    assert kitpick("eval", "--queries", str(file_of(RAIN)), *asked, "-o", str(report)).code == ExitCode.OK
    more = file_of(RAIN, {"query": "feed the cat", "relevant": []})
    refused = kitpick("eval", "--queries", str(more), *asked, "--baseline", str(report))
    assert refused.code == ExitCode.INPUT
    assert "measured on other requests" in refused.err


def test_without_a_request_that_something_answers_there_is_nothing_to_measure(file_of, kitpick) -> None:
    refused = kitpick("eval", "--queries", str(file_of({"query": "feed the cat", "relevant": []})))
    assert refused.code == ExitCode.INPUT
    assert "none of the 1 requests has a relevant API" in refused.err


def test_without_a_language_model_every_profile_is_measured_that_needs_none(file_of, kitpick) -> None:
    report = report_of(kitpick("eval", "--queries", str(file_of(RAIN)), "--json"))
    assert {row["profile"] for row in report["rows"]} == {*shipped_profiles()} - {"rankgpt"}


def test_either_of_two_right_answers_is_enough(file_of, kitpick) -> None:
    groups = [["get_weather", "delete_file"], ["send_email"]]
    file = file_of({"query": "mail me the weather forecast", "relevant": groups})
    asked = ("-p", "dense", "-k", "2", "--timed", "0", "--json")
    report = report_of(kitpick("eval", "--queries", str(file), *asked))
    figures = report["rows"][0]["figures"]
    assert (figures["recall@2"], figures["comp@2"], figures["ndcg@2"]) == (1.0, 1.0, 1.0)


def test_fields_of_the_users_own_are_taken_and_named(file_of, kitpick) -> None:
    ran = kitpick(
        "eval", "--queries", str(file_of({**RAIN, "ticket": 7})), "-p", "bm25", "-k", "5", "--timed", "0"
    )
    assert ran.code == ExitCode.OK, ran.err
    assert "fields that are not used: ticket" in ran.err


def test_the_mean_says_what_it_is_the_mean_of(file_of, kitpick) -> None:
    file = file_of({**RAIN, "subset": "sky"}, {**MAIL, "subset": "office"})
    table = kitpick("eval", "--queries", str(file), "-p", "bm25", "-k", "5", "--timed", "0").out
    assert "mean of the 2 subsets" in table


def test_a_subset_that_is_called_like_the_mean_is_refused(file_of, kitpick) -> None:
    file = file_of({**RAIN, "subset": "mean"}, {**MAIL, "subset": "office"})
    refused = kitpick("eval", "--queries", str(file), "-p", "bm25", "-k", "5")
    assert refused.code == ExitCode.INPUT
    assert "rename it" in refused.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["eval", "-m", "recal@5"], ExitCode.USAGE, "did you mean 'recall@5'"),
        (["eval", "-m", "recal@5", "--json"], ExitCode.USAGE, "did you mean 'recall@5'"),
        (["eval", "-k", "3", "-m", "ndcg@5"], ExitCode.USAGE, "did you mean 'ndcg@3'"),
        (["eval", "--by", "catagory"], ExitCode.USAGE, "did you mean 'category'"),
        (["eval", "--min", "racall@5>=0.5"], ExitCode.INPUT, "did you mean 'recall@5'"),
        (["eval", "--max-drop", "ndgc@5:0.1"], ExitCode.INPUT, "did you mean 'ndcg@5'"),
        (["eval", "--max-drop", "ndcg@5:0.1"], ExitCode.USAGE, "--baseline"),
        (["eval", "-k", "0"], ExitCode.INPUT, "at least 1"),
    ],
)
def test_what_is_misspelt_is_refused_before_anything_is_read(
    settings: Settings, kitpick, arguments: list[str], code: ExitCode, words: str
) -> None:
    refused = kitpick(*arguments, "--queries", "there-is-no-such-file.jsonl")
    assert refused.code == code, refused.err
    assert words in " ".join(refused.err.replace("│", " ").split())
    assert "there-is-no-such-file" not in refused.err


def test_few_hits_may_be_counted_without_naming_metrics(file_of, kitpick) -> None:
    ran = kitpick("eval", "--queries", str(file_of(RAIN)), "-p", "bm25", "-k", "1", "--timed", "0")
    assert ran.code == ExitCode.OK, ran.err
    assert "recall@1" in ran.out


def test_a_catalog_smaller_than_the_usual_cut_offs_is_measured_as_far_as_it_goes(file_of, kitpick) -> None:
    asked = ("eval", "--queries", str(file_of(RAIN)), "-p", "bm25", "--timed", "0")
    ran = kitpick(*asked)
    assert ran.code == ExitCode.OK, ran.err
    assert "the catalog holds 8 APIs: figures for k = 3, 5" in ran.err
    assert kitpick(*asked, "-k", "10").code == ExitCode.INPUT, "who asks for more is told"


def test_a_report_that_cannot_be_written_is_refused_before_anything_is_asked(tmp_path: Path, kitpick) -> None:
    absent = tmp_path / "not-there.jsonl"
    ran = kitpick("eval", "--queries", str(absent), "-p", "dense", "-o", str(tmp_path))
    assert ran.code == ExitCode.INPUT
    assert f"{tmp_path}: cannot be written" in ran.err
