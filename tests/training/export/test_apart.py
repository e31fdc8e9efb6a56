"""A pair taken apart: each encoder as it was stored, and both together the pair again."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

pytest.importorskip("torch")

import onnx
from onnx import numpy_helper

from kitpick_models.errors import CorruptModel, UnsupportedModel
from kitpick_models.manifest import MODEL, digest, read_manifest, write_manifest
from kitpick_models.runtime import load_encoder
from kitpick_training.export.apart import is_pair, take_apart
from kitpick_training.export.original import Original, original_embeddings
from kitpick_training.export.pair import MATRIX, PackedWords, join_turned
from kitpick_training.weights import reopen, reopen_as

pytestmark = pytest.mark.needs("torch", "onnxruntime")

TEXTS = ["get weather", "song", "user price ticket get get get"]


def test_joined_again_it_is_the_same_graph_to_the_last_byte(pair: Path, tmp_path: Path) -> None:
    apart = take_apart(pair, tmp_path / "halves")
    again = join_turned(apart.folders, apart.matrices, TEXTS, tmp_path / "again", read_manifest(pair))
    assert again.files[MODEL] == read_manifest(pair).files[MODEL]
    assert (again.identity, again.dimensions) == (read_manifest(pair).identity, 48)


def test_the_vectors_of_both_turned_and_added_are_those_of_the_pair(pair: Path, tmp_path: Path) -> None:
    apart = take_apart(pair, tmp_path)
    encoders = [load_encoder(folder) for folder in apart.folders]
    parts = [one.encode(TEXTS) @ turn for one, turn in zip(encoders, apart.matrices, strict=True)]
    wanted = np.sum(parts, axis=0)
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    np.testing.assert_allclose(load_encoder(pair).encode(TEXTS), wanted, atol=1e-5)


def test_each_half_is_opened_with_the_words_that_are_stored(pair: Path, tmp_path: Path) -> None:
    for folder, layers in zip(take_apart(pair, tmp_path).folders, (2, 1), strict=True):
        constants = {
            each.name: numpy_helper.to_array(each) for each in onnx.load(folder / MODEL).graph.initializer
        }
        words = PackedWords(constants["words.pairs"], constants["words.scale"]).unpacked()
        opened = reopen(folder)
        assert len(opened.module.encoder.layer) == layers
        assert (opened.module.get_input_embeddings().weight.detach().numpy() == words).all()
        found = original_embeddings(Original(opened.module, opened.tokenizer), TEXTS, 16)
        np.testing.assert_allclose(found, load_encoder(folder).encode(TEXTS), atol=1e-4)


def test_a_half_says_what_the_pair_was_trained_on_and_reads_as_much_as_is_asked(
    pair: Path, tmp_path: Path
) -> None:
    found = [read_manifest(folder) for folder in take_apart(pair, tmp_path, max_tokens=8).folders]
    assert [(half.name, half.dimensions, half.max_tokens) for half in found] == [
        ("pair-0", 64, 8),
        ("pair-1", 64, 8),
    ]
    assert all(half.seen == ("abc",) for half in found)


def test_a_training_of_one_body_says_how_to_take_a_pair_apart(pair: Path, tmp_path: Path) -> None:
    assert is_pair(pair)
    for opened in (reopen, lambda folder: reopen_as(folder, "encoder")):
        with pytest.raises(UnsupportedModel, match=r"export\.apart .*FOLDER/0"):
            opened(pair)
    with pytest.raises(UnsupportedModel, match="wanted: 'cross_encoder'"):
        reopen_as(pair, "cross_encoder")


def test_an_encoder_alone_is_no_pair(pair: Path, tmp_path: Path) -> None:
    half = take_apart(pair, tmp_path).folders[0]
    assert not is_pair(half)
    with pytest.raises(UnsupportedModel, match="not two encoders"):
        take_apart(half, tmp_path / "again")


def test_a_matrix_of_other_encoders_is_damage(pair: Path, tmp_path: Path) -> None:
    model = onnx.load(pair / MODEL)
    matrix = next(each for each in model.graph.initializer if each.name == MATRIX)
    matrix.CopyFrom(numpy_helper.from_array(np.ones((100, 48), np.float16), MATRIX))
    data = model.SerializeToString()
    (tmp_path / MODEL).write_bytes(data)
    (tmp_path / "tokenizer.json").write_bytes((pair / "tokenizer.json").read_bytes())
    manifest = read_manifest(pair)
    files = {**manifest.files, MODEL: digest(data)}
    write_manifest(tmp_path, msgspec.structs.replace(manifest, files=files))
    with pytest.raises(CorruptModel, match="100 rows for 128 numbers"):
        take_apart(tmp_path, tmp_path / "halves")
