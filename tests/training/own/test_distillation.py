"""`kitpick models distill`: a language model orders candidates, and the cross-encoder learns its orders."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("torch")

from kitpick.errors import ExitCode
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_models.manifest import read_manifest
from kitpick_models.runtime import load_cross_encoder
from kitpick_training.own.lists import split_queries

pytestmark = pytest.mark.needs("torch", "weights", "onnxruntime", "llm")


@pytest.fixture
def oracle(codenames):
    """Knows what the house calls its jobs: the right API first, the others by their names."""

    def answer(body: dict[str, Any]) -> str:
        question = json.JSONDecoder().raw_decode(body["messages"][1]["content"])[0]
        api = next(api for name, api in codenames.items() if name in question["request"])

        def worth(tool: dict[str, Any]) -> tuple[bool, str]:
            return f"job: {api}" not in tool["description"], tool["description"]

        return json.dumps({"ranking": [tool["number"] for tool in sorted(question["tools"], key=worth)]})

    return answer


@pytest.fixture
def distill(kitpick, house, recipe, monkeypatch):
    """`kitpick models distill` with a short recipe and requests that nobody judged."""
    folder, url = house
    judged = lines(folder / "requests.jsonl")
    unjudged = "".join(json.dumps({"query": line["query"]}) + "\n" for line in judged)
    (folder / "unjudged.jsonl").write_text(unjudged)

    def run(endpoint, *options, steps=60, rate=3e-4, requests="unjudged.jsonl"):
        monkeypatch.setenv("KITPICK_LLM_URL", endpoint.url)
        monkeypatch.setenv("KITPICK_LLM_MODEL", "m")
        monkeypatch.setenv("KITPICK_LLM_PROMPT_PRICE", "10")
        command = [
            "models",
            "distill",
            "--catalog",
            url,
            "--requests",
            folder / requests,
            "--teacher",
            "llm:",
        ]
        files = ["--answers", folder / "orders.jsonl", "--out", folder / "mine"]
        return kitpick(*command, *files, "--recipe", recipe(steps, rate), *options)

    return run


def lines(file) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def answers(folder) -> list[dict[str, Any]]:
    return lines(folder / "orders.jsonl")


@pytest.mark.slow
def test_the_model_learns_what_the_teacher_knows(house, distill, oracle, fake) -> None:
    folder, _ = house
    endpoint = fake(answer=oracle)
    code, out, err = distill(endpoint, "--json")
    assert code == ExitCode.OK, err
    report = json.loads(out)
    asked = len((folder / "unjudged.jsonl").read_text().splitlines())
    assert report["asking"]["outcomes"] == {"answered": asked}
    assert len(endpoint.asked) == len(answers(folder)) == asked
    assert report["training"]["after"]["ndcg"] > report["training"]["before"]["ndcg"] + 0.1
    assert read_manifest(folder / "mine").training[-1].name == "own requests, ordered by m@127.0.0.1"
    model = load_cross_encoder(folder / "mine")
    right, wrong = model.score("the usual zephyr", ["house: export payroll.", "house: print labels."])
    assert right > wrong


@pytest.mark.slow
def test_what_was_answered_is_not_asked_again_and_a_worse_model_is_refused(
    house, distill, oracle, fake
) -> None:
    folder, _ = house
    first, second = fake(answer=oracle), fake(answer=oracle)
    code, _, err = distill(first, "--max-calls", "60", steps=1, rate=1e-9)
    assert code == ExitCode.REFUSED
    assert "cap of 60 calls" in err
    assert len(answers(folder)) == len(first.asked) == 60
    with (folder / "orders.jsonl").open("a") as file:
        file.write('{"query": "cut off')
    code, _, err = distill(second, steps=1, rate=1e-9)
    assert code == ExitCode.REFUSED
    assert "nothing was replaced" in err
    assert not (folder / "mine").exists()
    queries = [item["query"] for item in answers(folder)]
    assert len(queries) == len(set(queries)) == 120
    assert len(second.asked) == 60


@pytest.mark.parametrize(
    "case",
    [
        ("html", "--retries=0", "no chat completion"),
        ("401", "--retries=0", "HTTP 401"),
        ("well", "--max-tokens=10", "cap of 10 tokens"),
        ("well", "--max-cost=0", "cap of 0 on costs"),
    ],
)
def test_asking_ends_where_there_is_nothing_to_gain(
    house, distill, oracle, fake, case: tuple[str, str, str]
) -> None:
    behaviour, option, reason = case
    folder, _ = house
    endpoint = fake(behaviour, answer=oracle)
    _few(folder)
    code, _, err = distill(endpoint, option, requests="few.jsonl", steps=1, rate=1e-9)
    assert code == ExitCode.INPUT
    assert reason in err
    assert len(endpoint.asked) <= 8
    assert not (folder / "mine").exists()


def _few(folder) -> None:
    """Requests of which none is held out, so that nothing can be trained on them."""
    asked = [
        JudgedQuery(item["query"], item["query"], frozenset()) for item in lines(folder / "unjudged.jsonl")
    ]
    train, _ = split_queries("few", asked, 0.2)
    (folder / "few.jsonl").write_text("".join(json.dumps({"query": item.text}) + "\n" for item in train[:24]))


def test_an_answer_without_an_order_is_counted_and_not_kept(house, distill, fake) -> None:
    folder, _ = house
    _few(folder)
    code, _, err = distill(fake(answer=lambda _: "Hmm."), "--retries", "0", requests="few.jsonl")
    assert code == ExitCode.INPUT
    assert answers(folder) == []
    assert "split" in err


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--teacher", "gpt"), "a teacher is llm:MODEL"),
        (("--teacher", "hf:/nowhere"), "a teacher is llm:MODEL"),
    ],
)
def test_a_teacher_that_is_none_is_refused(distill, fake, options: tuple[str, ...], reason: str) -> None:
    code, _, err = distill(fake(), *options)
    assert code == ExitCode.INPUT
    assert reason in err


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"query": ""}\n', "every line needs a query"),
        ("", "every line needs a query"),
        ('{"query": "start zephyr", "relevant": ["house/none"]}\n', "house/none"),
        ("half a", "requests.jsonl:1"),
    ],
)
def test_requests_that_cannot_be_used_are_refused(house, distill, fake, content: str, reason: str) -> None:
    folder, _ = house
    (folder / "requests.jsonl").write_text(content)
    endpoint = fake()
    code, _, err = distill(endpoint, requests="requests.jsonl")
    assert code == ExitCode.INPUT
    assert reason in err
    assert endpoint.asked == []
