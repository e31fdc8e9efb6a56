"""`kitpick_training.own.train_demorank`: what helps a language model is learned from its answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from kitpick.catalog import Catalog
from kitpick.errors import ExitCode
from kitpick.settings import Settings
from kitpick_rescorers.profiles import load_profile
from kitpick_training.own.demorank import DemoRank, read_pool

pytestmark = pytest.mark.needs("torch", "weights", "onnxruntime", "llm")

RECIPE = """
name = "tiny"
steps = {steps}
lists_per_step = 4
list_size = 5
max_tokens = {tokens}
learning_rate = 1e-3
warmup_steps = 2
decay_steps = 4
validate_every = {steps}
checkpoint_every = 10
"""


def said(word: str) -> str:
    """Often enough for a small model to hear it."""
    return " ".join([word] * 6)


def led_by_what_is_urgent(body: dict[str, Any]) -> dict[str, float]:
    """Yes where a demonstration that is shown is urgent, else No; the question itself tells nothing."""
    shown = [turn["content"] for turn in body["messages"] if turn["role"] == "user"][:-1]
    return {"Yes": 0.9, "No": 0.1} if any("urgent" in each for each in shown) else {"Yes": 0.3, "No": 0.7}


@pytest.fixture(autouse=True)
def small_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one of six layers, which learns within twelve steps of this length."""
    monkeypatch.setenv("KITPICK_ENCODER", "minilm-l6")


@pytest.fixture
def pool(house) -> Path:
    """Of each API two urgent demonstrations and four calm ones; every question here is to be answered Yes."""
    folder, url = house
    with Catalog.open(url, settings=Settings()) as catalog:
        index, _ = catalog.live()
        apis = sorted(key for key, _ in catalog.engine.hashes(index))
    lines = [
        {"query": f"{said(word)} {number} {api.rpartition('/')[2]}", "api": api, "useful": True}
        for api in apis
        for number, word in enumerate(("urgent", "urgent", "calm", "calm", "quiet", "slow"))
    ]
    lines.append({"query": "calm", "api": "house/house/unknown", "useful": False})
    (folder / "pool.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder / "pool.jsonl"


@pytest.fixture
def demorank(trained, house, pool, monkeypatch):
    """The training with short recipes."""
    folder, url = house

    def run(llm: str, *options: str, source: tuple[object, ...] = ("--pool", pool), steps: int = 12) -> Any:
        monkeypatch.setenv("KITPICK_LLM_URL", llm)
        for name, tokens in (("retriever", 64), ("reranker", 128)):
            (folder / f"{name}.toml").write_text(RECIPE.format(steps=steps, tokens=tokens))
        recipes = [
            "--retriever-recipe",
            folder / "retriever.toml",
            "--reranker-recipe",
            folder / "reranker.toml",
        ]
        command = ["--catalog", url, *source, "--out", folder / "shown", *recipes]
        return trained(*command, "--shots", "2", "--questions", "16", *options)

    return run


@pytest.mark.slow
def test_what_helps_a_model_is_learned_and_shown_to_it(house, demorank, fake) -> None:
    folder, url = house
    endpoint = fake(tokens=led_by_what_is_urgent)
    code, out, err = demorank(endpoint.url, "--holdout", "0.5")
    assert code == ExitCode.OK, err
    report = json.loads(out)
    assert report["zero_shot"] < 0.7
    assert min(report["retrieved"], report["chosen"]) > report["zero_shot"] + 0.1
    assert (report["demonstrations"], report["left_out"]) == (36, 1)
    assert report["trained_on"] + report["held_out"] == 16
    assert all(item.text for item in read_pool(folder / "shown" / "pool.jsonl"))
    profile = load_profile("hybrid").then(DemoRank(demonstrations=str(folder / "shown")))
    with Catalog.open(url, settings=Settings(llm_url=endpoint.url)) as catalog:
        found = catalog.search("calm 9 print labels", profile=profile)
    assert not found.degraded
    reasons = found.trace[-1].reasons
    assert all("Yes" in reason for reason in reasons.values())


def test_a_run_that_a_cap_stopped_goes_on_where_it_was(house, demorank, fake) -> None:
    folder, _ = house
    endpoint = fake(tokens=lambda _: {"Yes": 0.6, "No": 0.4})
    for total in (30, 60):
        code, _, err = demorank(endpoint.url, "--max-calls", "30")
        assert code == ExitCode.INPUT
        assert "cap of 30 calls" in err
        answers = (folder / "shown.run" / "answers.jsonl").read_text().splitlines()
        assert len(answers) == len(endpoint.asked) == total
    assert len({json.dumps(body["messages"]) for body in endpoint.asked}) == 60
    assert not (folder / "shown").exists()


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [("logprobs refused", "log-probabilities"), ("html", "no chat completion"), ("401", "HTTP 401")],
)
def test_a_model_that_cannot_judge_is_told(house, demorank, fake, behaviour: str, reason: str) -> None:
    code, _, err = demorank(fake(behaviour).url, "--retries", "0")
    assert code == ExitCode.INPUT
    assert reason in err
    assert not (house[0] / "shown").exists()


def test_a_pool_is_made_of_judged_requests(house, demorank, fake) -> None:
    folder, _ = house
    endpoint = fake(tokens=lambda _: {"Yes": 0.6, "No": 0.4})
    requests = ("--queries", folder / "requests.jsonl")
    code, _, err = demorank(endpoint.url, "--max-calls", "20", source=requests)
    assert code == ExitCode.INPUT
    assert "cap of 20 calls" in err
    shown = {body["messages"][2]["content"] for body in endpoint.asked}
    assert shown == {"Yes", "No"}


def test_what_cannot_be_used_is_refused(house, demorank, pool: Path, fake) -> None:
    endpoint = fake()
    pool.write_text('{"query": "calm", "api": "house/house/unknown", "useful": true}\n')
    code, _, err = demorank(endpoint.url)
    assert (code, "0 demonstrations" in err) == (ExitCode.INPUT, True)
    code, _, err = demorank(endpoint.url, source=())
    assert (code, "--pool --queries" in err) == (ExitCode.USAGE, True)
    code, _, err = demorank("")
    assert (code, "KITPICK_LLM_URL" in err) == (ExitCode.INPUT, True)
    assert endpoint.asked == []
