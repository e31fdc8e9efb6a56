"""`kitpick models train`: the model in use learns what its users call things, or stays as it is."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("torch")

from kitpick.catalog import Catalog
from kitpick.errors import ExitCode
from kitpick.settings import Settings
from kitpick_models.manifest import read_manifest
from kitpick_models.runtime import load_cross_encoder
from kitpick_models.verify import verify
from kitpick_rescorers.profiles import load_profile
from kitpick_rescorers.stages import CrossEncode

pytestmark = [pytest.mark.needs("torch"), pytest.mark.needs("weights"), pytest.mark.needs("onnxruntime")]


@pytest.fixture
def train(kitpick, house, recipe):
    """`kitpick models train` with a short recipe."""
    folder, url = house

    def run(steps, rate, *options):
        command = ["models", "train", "--catalog", url, "--queries", folder / "requests.jsonl"]
        return kitpick(*command, "--recipe", recipe(steps, rate), "--out", folder / "mine", *options)

    return run


@pytest.mark.slow
def test_the_model_learns_what_the_house_calls_things(house, train):
    folder, _ = house
    code, out, err = train(60, 3e-4, "--json")
    assert code == ExitCode.OK, err
    report = json.loads(out)
    assert report["after"]["ndcg"] > report["before"]["ndcg"] + 0.1
    assert report["trained_on"] + report["held_out"] == len(
        (folder / "requests.jsonl").read_text().splitlines()
    )
    manifest = read_manifest(folder / "mine")
    shipped = load_cross_encoder().manifest
    assert len(set(manifest.seen) - set(shipped.seen)) == report["tools_seen"] == 1
    assert manifest.training[-1].name == "own requests"
    assert verify(folder / "mine").sound
    model = load_cross_encoder(folder / "mine")
    right, wrong = model.score("the usual zephyr", ["house: export payroll.", "house: print labels."])
    assert right > wrong


@pytest.mark.slow
def test_a_model_that_is_no_better_is_refused(house, train):
    folder, _ = house
    code, _, err = train(1, 1e-9)
    assert code == ExitCode.REFUSED
    assert "nothing was replaced" in err
    assert not (folder / "mine").exists()


@pytest.mark.slow
def test_labels_that_are_the_answers_of_the_model_in_use_teach_nothing(house, train):
    """A label loop: what was logged as right is what the model itself put first."""
    folder, url = house
    requests = [json.loads(line) for line in (folder / "requests.jsonl").read_text().splitlines()]
    alone = load_profile("hybrid").then(CrossEncode(candidates=30))
    with Catalog.open(url, settings=Settings()) as catalog:
        for item in requests:
            item["relevant"] = [catalog.search(item["query"], 1, profile=alone).hits[0].document.id]
    (folder / "requests.jsonl").write_text("".join(json.dumps(item) + "\n" for item in requests))
    code, _, err = train(2, 1e-5)
    assert code == ExitCode.REFUSED
    assert "nothing was replaced; the model in use makes no mistake on them" in err
    assert not (folder / "mine").exists()


def test_requests_for_apis_that_the_catalog_lacks_are_refused(house, train):
    folder, _ = house
    (folder / "requests.jsonl").write_text('{"query": "start zephyr", "relevant": ["house/none"]}\n')
    code, _, err = train(1, 1e-5)
    assert code == ExitCode.INPUT
    assert "house/none" in err


def test_too_few_requests_to_hold_any_out_are_refused(house, train):
    folder, _ = house
    first = (folder / "requests.jsonl").read_text().splitlines(keepends=True)[0]
    (folder / "requests.jsonl").write_text(first)
    code, _, err = train(1, 1e-5)
    assert code == ExitCode.INPUT
    assert "split" in err


def test_a_recipe_that_does_not_exist_is_told_with_those_that_do(house, train):
    folder, _ = house
    code, _, err = train(1, 1e-5, "--recipe", "fast")
    assert code == ExitCode.UNAVAILABLE
    assert "own-reranker" in err
    assert not (folder / "mine").exists()
