"""Each script that trains what is shipped offers what its job asks for; a job is refused before it costs."""

from __future__ import annotations

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

pytest.importorskip("torch")

from kitpick_evaluation.errors import EvaluationError
from kitpick_models.errors import UnsupportedModel
from kitpick_training.data.ranking_lists import MIXTURES
from kitpick_training.data.readers import READERS
from kitpick_training.data.sources import reranker_source
from kitpick_training.errors import InvalidRecipe
from kitpick_training.recipe import recipe_path
from kitpick_training.shipped_models import (
    RerankerJob,
    TrainingJob,
    TransformerJob,
    join_encoders,
    train_encoder,
    train_reranker,
)

pytestmark = pytest.mark.needs("torch")
SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.mark.parametrize(
    ("script", "job"),
    [
        ("train-encoder", TransformerJob),
        ("train-reranker", RerankerJob),
        ("train-query-kind", TrainingJob),
    ],
)
def test_the_options_of_a_script_are_the_fields_of_its_job(monkeypatch, script, job):
    loader = SourceFileLoader(script.replace("-", "_"), str(SCRIPTS / script))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    monkeypatch.setattr(sys, "argv", [script, "--data", "d", "--run", "r", "--out", "o"])
    options = vars(module._options())
    assert {*options, "command"} == set(job.__struct_fields__)
    assert recipe_path(options["recipe"]).is_file()
    assert module.COMMAND.startswith(f"scripts/{script} ")


def test_a_recipe_needs_the_judge_that_it_asks_for(tmp_path):
    nowhere = tmp_path / "none"
    job = RerankerJob(
        recipe="reranker-l6-hard", data=nowhere, run=nowhere, out=nowhere, command="scripts/train-reranker"
    )
    with pytest.raises(InvalidRecipe, match="--judge"):
        train_reranker(job, print)
    assert not nowhere.exists()


def test_a_body_that_is_none_is_refused_by_its_name(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    job = TransformerJob(
        recipe="encoder-l6", data=tmp_path, run=tmp_path, out=tmp_path, command="c", body=tmp_path
    )
    with pytest.raises(UnsupportedModel, match=r"no folder of transformers, it has no tokenizer\.json"):
        train_encoder(job, print)


def test_a_pair_is_joined_of_two(tmp_path):
    job = TrainingJob(recipe="encoder-pair", data=tmp_path, run=tmp_path, out=tmp_path, command="c")
    with pytest.raises(UnsupportedModel, match="1 encoders to join"):
        join_encoders(job, [tmp_path])


def test_missing_data_is_found_before_anything_is_embedded(tmp_path, monkeypatch):
    mixture = MIXTURES["shown"]
    *others, last = mixture.catalogs
    missing = READERS["openapi"]
    for name in others:
        monkeypatch.setitem(READERS, name, lambda _: None)
    monkeypatch.setitem(READERS, last, missing)

    def encode(texts):
        raise AssertionError("embedded before all data was read")

    with pytest.raises(EvaluationError, match="no data at"):
        reranker_source(tmp_path / "none", mixture, encode, tmp_path, 0, 4)
