"""A causal language model in this process: trained here in seconds, asked like any other."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import tiny_lm

from kitpick_rescorers.llm.endpoint import LlmSettings
from kitpick_rescorers.llm.local import LocalModel, open_model
from kitpick_rescorers.llm.model import CallFailed, LlmUnavailable, Message, NoLikelihoods

pytestmark = pytest.mark.needs("torch")
ANSWERS = ("Yes", "No")


def question(request: str, tool: str) -> tuple[Message, ...]:
    return (Message("system", "Is it the job?"), Message("user", f"{request} | {tool}"))


def drawn(rng: random.Random) -> tuple[str, str]:
    wanted, tool = rng.choice(tiny_lm.TOOLS), rng.choice(tiny_lm.TOOLS)
    answer = "Yes" if tool in tiny_lm.GOOD else "No"
    return f"Is it the job?\n\nget {wanted} | {tool}\nAnswer:", answer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_lm.train(drawn, 80, tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def model(folder: Path) -> LocalModel:
    opened = open_model(LlmSettings(url=f"hf:{folder}", model=""))
    assert isinstance(opened, LocalModel)
    return opened


def test_it_says_how_likely_yes_and_no_are(model: LocalModel) -> None:
    yes, no = model.likelihoods(question("get parcel", "parcel"), ANSWERS, seconds=20).masses
    other_yes, other_no = model.likelihoods(question("get parcel", "song"), ANSWERS, seconds=20).masses
    assert yes > 0.8
    assert other_yes < 0.2
    assert yes + no == pytest.approx(1.0, abs=0.05)
    assert other_yes + other_no == pytest.approx(1.0, abs=0.05)


def test_the_likelihood_is_the_sum_over_the_tokens_of_all_spellings(model: LocalModel, folder: Path) -> None:
    import torch

    words = tiny_lm.tokenizer()
    ids = words("Is it the job?\n\nget song | song\nAnswer:")["input_ids"]
    with torch.inference_mode():
        odds = torch.softmax(model._model(torch.tensor([ids])).logits[0, -1], 0)
    by_hand = [
        sum(float(odds[words.convert_tokens_to_ids(w)]) for w in pair)
        for pair in (["Yes", "yes"], ["No", "no"])
    ]
    found = model.likelihoods(question("get song", "song"), ANSWERS, seconds=20)
    assert found.masses == pytest.approx(by_hand)
    assert (found.prompt_tokens, found.completion_tokens) == (len(ids), 1)


def test_it_answers_in_words(model: LocalModel) -> None:
    answer = model.complete(question("get recipe", "recipe"), max_tokens=1, schema=None, seconds=20)
    assert (answer.text.strip(), answer.completion_tokens) == ("Yes", 1)


def test_a_chat_template_is_used_where_the_model_has_one(folder: Path) -> None:
    model = LocalModel(folder)
    model._tokenizer.chat_template = "{% for m in messages %}{{ m.role }} {{ m.content }} {% endfor %}Answer:"
    told = model.likelihoods(question("get song", "song"), ANSWERS, seconds=20)
    assert told.prompt_tokens == len(
        tiny_lm.tokenizer()("system Is it the job? user get song | song Answer:")["input_ids"]
    )


def test_a_prompt_that_does_not_fit_is_refused(model: LocalModel) -> None:
    with pytest.raises(CallFailed, match="reads 512 tokens"):
        model.likelihoods(question("get song " * 300, "song"), ANSWERS, seconds=20)


def test_answers_that_the_model_cannot_tell_apart_are_refused(model: LocalModel) -> None:
    with pytest.raises(NoLikelihoods, match="same token"):
        model.likelihoods(question("get song", "song"), ("Yes", "yes"), seconds=20)
    with pytest.raises(NoLikelihoods, match="no tokens for"):
        model.likelihoods(question("get song", "song"), ("Jawohl", "No"), seconds=20)


def test_a_folder_without_a_model_is_refused(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(LlmUnavailable, match=r"config\.json is missing"):
        LocalModel(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "none of these"}')
    with pytest.raises(LlmUnavailable, match="not a causal language model"):
        LocalModel(tmp_path)
