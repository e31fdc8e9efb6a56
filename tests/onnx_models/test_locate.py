"""Models are found by path, in a further folder, and among the shipped ones, in this order."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kitpick_models import locate
from kitpick_models.errors import CorruptModel, UnknownModel
from kitpick_models.locate import VARIABLE, choose, find_model, list_models
from kitpick_models.manifest import Manifest, write_manifest
from kitpick_models.runtime import load_encoder


def model(place: Path, name: str) -> Path:
    folder = place / name
    folder.mkdir(parents=True)
    write_manifest(folder, Manifest(name, "encoder", "1", "none", "MIT"))
    return folder


def test_a_path_is_taken_as_it_is(tmp_path: Path):
    assert find_model(model(tmp_path, "mine")) == tmp_path / "mine"


def test_a_further_folder_comes_before_the_shipped_models(tmp_path: Path):
    assert find_model(model(tmp_path, "minilm-l6").name, tmp_path) == tmp_path / "minilm-l6"


def test_the_variable_names_a_further_folder_and_the_argument_is_preferred(tmp_path: Path, monkeypatch):
    model(tmp_path / "one", "mine")
    model(tmp_path / "two", "mine")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "one"))
    assert find_model("mine") == tmp_path / "one" / "mine"
    assert find_model("mine", tmp_path / "two") == tmp_path / "two" / "mine"


def test_an_unknown_model_is_answered_with_the_known_ones(tmp_path: Path):
    model(tmp_path, "mine")
    with pytest.raises(UnknownModel, match=r"known are.*mine"):
        find_model("yours", tmp_path)


def test_a_name_never_leads_out_of_the_folders(tmp_path: Path):
    model(tmp_path, "outside")
    (tmp_path / "models").mkdir()
    with pytest.raises(UnknownModel):
        find_model("../outside", tmp_path / "models")


def test_models_are_listed_by_name_and_once(tmp_path: Path):
    model(tmp_path, "minilm-l6")
    model(tmp_path, "a-model")
    names = [folder.name for folder, _ in list_models(tmp_path)]
    assert names == sorted(set(names))
    assert {"a-model", "minilm-l6"} <= set(names)


@pytest.mark.needs("weights")
def test_the_shipped_encoder_is_listed_with_its_origin():
    manifest = {folder.name: manifest for folder, manifest in list_models()}["minilm-l6"]
    assert manifest.licence == "Apache-2.0"
    assert manifest.storage == "static_int8"


@pytest.mark.needs("weights", "onnxruntime")
def test_models_read_the_tokenizer_beside_them_and_a_lone_one_that_of_the_package(tmp_path: Path):
    alone = shutil.copytree(find_model("minilm-l6"), tmp_path / "set" / "mine")
    assert not (alone / "tokenizer.json").exists()
    assert load_encoder(alone).encode(["weather"]).shape == (1, 384)
    (tmp_path / "set" / "tokenizer.json").write_bytes(b"{}")
    with pytest.raises(CorruptModel, match=r"set.tokenizer\.json: SHA-256 differs"):
        load_encoder(alone)


@pytest.mark.needs("weights")
def test_a_data_package_is_found_by_the_names_in_it(tmp_path: Path, monkeypatch):
    package = tmp_path / "kitpick_models_other"
    shutil.copytree(find_model("query-kind"), package / "weights" / "their-kind")
    (package / "__init__.py").touch()
    (package / "weights" / "other").mkdir()
    (package / "weights" / "other" / "set.toml").write_text(
        'name = "other"\nencoder = "minilm-l6"\ncross_encoder = "reranker-l6"\nquery_kind = "their-kind"\n'
    )
    info = tmp_path / "kitpick_models_other-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kitpick-models-other\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[kitpick.models]\nother = kitpick_models_other\n")
    monkeypatch.syspath_prepend(tmp_path)
    locate._data_packages.cache_clear()
    try:
        assert choose("other").query_kind == "their-kind"
        assert find_model("their-kind") == package / "weights" / "their-kind"
    finally:
        locate._data_packages.cache_clear()
