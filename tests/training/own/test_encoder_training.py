"""`kitpick models train --kind encoder`: requests find by the house's own words, or the encoder stays."""

from __future__ import annotations

import json

import msgspec
import numpy as np
import pytest

pytest.importorskip("torch")

from kitpick.catalog import Catalog
from kitpick.errors import ExitCode
from kitpick.settings import Settings
from kitpick_models.locate import find_model
from kitpick_models.manifest import read_manifest
from kitpick_models.verify import verify

pytestmark = [pytest.mark.needs("torch"), pytest.mark.needs("weights"), pytest.mark.needs("onnxruntime")]


TEXTS = ["start zephyr", "export payroll", "print labels"]


def lower_layers(folder, count, storage):
    """A shipped encoder with some layers left: a model to start from, and several times as fast."""
    from kitpick_training.export import export_encoder
    from kitpick_training.export.original import Original
    from kitpick_training.weights import reopen

    opened = reopen(find_model("minilm-l6"))
    opened.module.encoder.layer = opened.module.encoder.layer[:count]
    opened.module.config.num_hidden_layers = count
    manifest = msgspec.structs.replace(opened.manifest, name="start", storage=storage)
    return export_encoder(Original(opened.module, opened.tokenizer), folder, manifest, TEXTS, TEXTS)


@pytest.fixture(scope="session")
def small_encoder(tmp_path_factory):
    """Two layers."""
    folder = tmp_path_factory.mktemp("models") / "start"
    lower_layers(folder, 2, "fp32")
    return folder


@pytest.fixture(scope="session")
def small_pair(tmp_path_factory):
    """Two layers joined with one, as the shipped encoder is of two."""
    from kitpick_training.export.pair import join_turned

    models = tmp_path_factory.mktemp("models")
    manifest = lower_layers(models / "first", 2, "weight_int8")
    lower_layers(models / "second", 1, "weight_int8")
    turn = np.eye(manifest.dimensions, dtype=np.float32) / 2
    manifest = msgspec.structs.replace(manifest, storage="static_int8")
    join_turned([models / "first", models / "second"], [turn, turn], TEXTS, models / "start", manifest)
    return models / "start"


@pytest.fixture
def train(small_encoder, monkeypatch, kitpick, house, recipe):
    """`kitpick models train --kind encoder` with a short recipe."""
    monkeypatch.setenv("KITPICK_ENCODER", str(small_encoder))
    folder, url = house

    def run(steps, rate, *options):
        command = ["models", "train", "--kind", "encoder", "--catalog", url, "--out", folder / "mine"]
        command += ["--queries", folder / "requests.jsonl", "--recipe", recipe(steps, rate)]
        return kitpick(*command, *options)

    return run


@pytest.mark.slow
def test_requests_find_what_the_house_calls_things(house, train, small_encoder, monkeypatch):
    folder, url = house
    code, out, err = train(60, 3e-4, "--json")
    assert code == ExitCode.OK, err
    report = json.loads(out)
    assert report["after"]["ndcg"] > report["before"]["ndcg"] + 0.1
    assert report["tools_seen"] == 1
    manifest = read_manifest(folder / "mine")
    assert len(set(manifest.seen) - set(read_manifest(small_encoder).seen)) == 1
    assert manifest.training[-1].name == "own requests"
    assert verify(folder / "mine").sound

    monkeypatch.setenv("KITPICK_ENCODER", str(folder / "mine"))
    with Catalog.open(url, settings=Settings()) as catalog:
        catalog.ingest(str(folder / "apis.json"), name="house")
        hits = catalog.search("the usual zephyr", 1, profile="dense").hits
    assert hits[0].document.api == "export_payroll"


@pytest.mark.slow
def test_of_two_joined_encoders_the_first_learns_them(house, train, small_pair, monkeypatch):
    from kitpick_training.export.apart import is_pair

    folder, _ = house
    monkeypatch.setenv("KITPICK_ENCODER", str(small_pair))
    code, out, err = train(24, 3e-4, "--json")
    assert code == ExitCode.OK, err
    report = json.loads(out)
    assert report["after"]["ndcg"] > report["before"]["ndcg"] + 0.1
    assert is_pair(folder / "mine")
    assert verify(folder / "mine").sound


@pytest.mark.slow
def test_an_encoder_that_is_no_better_is_refused(house, train):
    folder, _ = house
    code, _, err = train(1, 1e-9)
    assert code == ExitCode.REFUSED
    assert "nothing was replaced" in err
    assert not (folder / "mine").exists()
