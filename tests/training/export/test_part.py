"""An encoder that a pair was joined from becomes a part of it: one file for both, and the same answers."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest

pytest.importorskip("torch")

from kitpick_models.errors import CorruptModel, UnsupportedModel
from kitpick_models.manifest import MODEL, REFERENCE, TOKENIZER, read_file, read_manifest, write_folder
from kitpick_models.runtime import load_encoder
from kitpick_models.verify import EncoderReference, pack, verify
from kitpick_training.export.apart import take_apart
from kitpick_training.export.pair import join_turned
from kitpick_training.export.part import become_part
from kitpick_training.weights import reopen

pytestmark = pytest.mark.needs("torch", "onnxruntime")

TEXTS = ["get weather", "song", "user price ticket get get get"]


@pytest.fixture
def whole(pair: Path, tmp_path: Path) -> Path:
    return shutil.copytree(pair, tmp_path / "whole")


@pytest.fixture
def second(whole: Path, tmp_path: Path) -> Path:
    """The second half with a graph and stored answers of its own, beside the pair."""
    half = take_apart(whole, tmp_path / "halves").folders[1]
    manifest = read_manifest(half)
    answers = EncoderReference(tuple(TEXTS), pack(load_encoder(half).encode(TEXTS)))
    files = {name: read_file(half, manifest, name) for name in (MODEL, TOKENIZER)}
    write_folder(tmp_path / "second", manifest, {**files, REFERENCE: msgspec.json.encode(answers)})
    return tmp_path / "second"


def test_a_part_answers_as_the_encoder_did_and_needs_no_file(second: Path, whole: Path) -> None:
    before = load_encoder(second).encode(TEXTS)
    written = become_part(second, whole, 1, "7")
    assert not (second / MODEL).exists()
    assert read_manifest(second) == written
    assert (written.version, written.files[MODEL]) == ("7", read_manifest(whole).files[MODEL])
    np.testing.assert_allclose(load_encoder(second).encode(TEXTS), before, atol=1e-6)
    assert verify(second).sound


def test_a_part_is_trained_further_as_an_encoder_of_its_own(second: Path, whole: Path) -> None:
    wanted = reopen(second).module.state_dict()
    become_part(second, whole, 1, "7")
    found = reopen(second).module.state_dict()
    assert found.keys() == wanted.keys()
    assert all((found[name] == wanted[name]).all() for name in wanted)


def test_a_part_is_joined_again(second: Path, whole: Path, tmp_path: Path) -> None:
    become_part(second, whole, 1, "7")
    apart = take_apart(whole, tmp_path / "again")
    folders = [apart.folders[0], second]
    join_turned(folders, apart.matrices, TEXTS, tmp_path / "joined", read_manifest(whole))
    found, wanted = load_encoder(tmp_path / "joined").encode(TEXTS), load_encoder(whole).encode(TEXTS)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_nothing_becomes_a_part_of_what_is_no_pair(second: Path, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModel, match="not two encoders"):
        become_part(second, tmp_path / "halves" / "0", 0, "7")
    assert (second / MODEL).exists()


def test_a_pair_is_no_part_of_itself(whole: Path) -> None:
    with pytest.raises(UnsupportedModel, match="no part of itself"):
        become_part(whole, whole, 1, "7")
    assert verify(whole).sound


def test_an_encoder_that_does_not_find_the_pair_stays_as_it_was(second: Path, whole: Path) -> None:
    before = load_encoder(second).encode(TEXTS)
    with pytest.raises(CorruptModel, match="is a part of the whole"):
        become_part(second, whole.rename(whole.parent / "halves" / "whole"), 1, "7")
    np.testing.assert_array_equal(load_encoder(second).encode(TEXTS), before)
    assert verify(second).sound
