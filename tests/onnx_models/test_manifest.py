"""A manifest names every file by digest; what differs from it is refused."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_models.errors import CorruptModel, UnsupportedModel
from kitpick_models.manifest import (
    FORMAT,
    PART_FORMAT,
    Figure,
    GraphPart,
    Manifest,
    TrainingData,
    card,
    digest,
    encode_manifest,
    hash_tool,
    read_file,
    read_manifest,
    write_folder,
    write_manifest,
)

MANIFEST = Manifest(
    name="reranker",
    kind="cross_encoder",
    version="3",
    base_model="a base",
    licence="Apache-2.0",
    files={"model.onnx": digest(b"weights")},
    training=(TrainingData("some requests", "MIT", 1_200),),
    seen=(hash_tool("Travel/Hotels"),),
    thresholds={"abstain": 0.2},
    figures=(Figure("quality", "ndcg@5", 0.61, "2026-01-01", "scripts/bench quality"),),
)


def test_a_manifest_reads_back_as_it_was_written(tmp_path: Path):
    write_manifest(tmp_path, MANIFEST)
    assert read_manifest(tmp_path) == MANIFEST


def test_the_identity_is_the_name_with_the_digest_of_what_computes():
    assert MANIFEST.identity == f"reranker@{digest(b'weights')[:12]}"


def test_a_seen_tool_is_recognised_without_regard_to_case_and_others_are_not():
    assert MANIFEST.is_seen("travel/hotels")
    assert not MANIFEST.is_seen("Travel/Flights")


@given(st.text())
def test_any_tool_key_has_a_digest(key: str):
    assert len(hash_tool(key)) == 12


def test_a_newer_format_is_refused_and_not_guessed(tmp_path: Path):
    write_manifest(tmp_path, msgspec.structs.replace(MANIFEST, format=FORMAT + 1))
    with pytest.raises(UnsupportedModel, match="upgrade"):
        read_manifest(tmp_path)


def test_a_newer_format_is_recognised_even_where_the_rest_has_changed(tmp_path: Path):
    (tmp_path / "manifest.json").write_text(json.dumps({"format": FORMAT + 1, "files": "elsewhere"}))
    with pytest.raises(UnsupportedModel):
        read_manifest(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"name": "x"}', b'{"format": "one"}', b"\xff\xfe"])
def test_what_is_no_manifest_is_corrupt(tmp_path: Path, content: bytes):
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(CorruptModel):
        read_manifest(tmp_path)


def test_an_absent_manifest_is_corrupt(tmp_path: Path):
    with pytest.raises(CorruptModel, match="cannot be read"):
        read_manifest(tmp_path)


@given(st.binary(min_size=1, max_size=64), st.data())
def test_one_flipped_bit_is_noticed(tmp_path_factory, content: bytes, data: st.DataObject):
    folder = tmp_path_factory.mktemp("model")
    position = data.draw(st.integers(0, 8 * len(content) - 1))
    flipped = bytearray(content)
    flipped[position // 8] ^= 1 << position % 8
    (folder / "head.npz").write_bytes(flipped)
    manifest = msgspec.structs.replace(MANIFEST, files={"head.npz": digest(content)})
    with pytest.raises(CorruptModel, match="SHA-256"):
        read_file(folder, manifest, "head.npz")


def test_a_file_that_the_manifest_does_not_name_is_refused(tmp_path: Path):
    (tmp_path / "extra").write_bytes(b"x")
    with pytest.raises(CorruptModel):
        read_file(tmp_path, MANIFEST, "extra")


def test_a_manifest_nested_too_deep_is_corrupt(tmp_path: Path):
    """Found by the fuzzer."""
    (tmp_path / "manifest.json").write_bytes(b'{"name": "m", "files": {"a": ' + b"[" * 50_000)
    with pytest.raises(CorruptModel):
        read_manifest(tmp_path)


@pytest.mark.parametrize("temperature", ["0", "0.0", "-1", "1e400", "null"])
def test_a_temperature_that_scores_cannot_be_divided_by_is_refused(tmp_path: Path, temperature: str):
    text = encode_manifest(MANIFEST).decode()
    assert '"temperature": 1.0' in text
    (tmp_path / "manifest.json").write_text(
        text.replace('"temperature": 1.0', f'"temperature": {temperature}')
    )
    with pytest.raises(CorruptModel):
        read_manifest(tmp_path)


def test_the_card_says_what_a_user_must_know():
    text = card(MANIFEST)
    for fact in ("# reranker 3", "Apache-2.0", "some requests", "1,200", "ndcg@5", "scripts/bench quality"):
        assert fact in text


PART = msgspec.structs.replace(MANIFEST, format=PART_FORMAT, part=GraphPart("pair", "1.vector"))


def test_a_part_reads_back_and_its_card_says_of_what(tmp_path: Path):
    write_manifest(tmp_path, PART)
    assert read_manifest(tmp_path) == PART
    assert "`1.vector` in that of pair" in card(PART)


def test_the_identity_of_a_part_tells_it_from_the_whole_and_from_other_parts():
    other = msgspec.structs.replace(PART, part=GraphPart("pair", "0.vector"))
    assert len({MANIFEST.identity, PART.identity, other.identity}) == 3


def test_a_reader_of_an_older_format_refuses_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_manifest(tmp_path, PART)
    monkeypatch.setattr("kitpick_models.manifest.FORMAT", PART_FORMAT - 1)
    with pytest.raises(UnsupportedModel, match="upgrade"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("model", ["", "../pair", "a/b", ".."])
def test_a_part_is_of_a_model_that_is_named_and_of_no_path(tmp_path: Path, model: str):
    text = encode_manifest(PART).decode().replace('"model": "pair"', f'"model": "{model}"')
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(CorruptModel, match="not a manifest"):
        read_manifest(tmp_path)


def test_what_is_written_with_a_graph_is_no_part_any_more(tmp_path: Path):
    written = write_folder(tmp_path, PART, {"model.onnx": b"another"})
    assert read_manifest(tmp_path) == written
    assert (written.part, written.format) == (msgspec.UNSET, 1)
    assert read_file(tmp_path, written, "model.onnx") == b"another"


def test_a_part_reads_the_file_beside_it_and_names_both_where_it_is_another(tmp_path: Path):
    folder, pair = tmp_path / "part", tmp_path / "pair"
    folder.mkdir()
    pair.mkdir()
    with pytest.raises(CorruptModel, match=r"cannot be read .*reranker is a part of the pair"):
        read_file(folder, PART, "model.onnx")
    (pair / "model.onnx").write_bytes(b"weights")
    assert read_file(folder, PART, "model.onnx") == b"weights"
    (pair / "model.onnx").write_bytes(b"others")
    with pytest.raises(CorruptModel, match=r"pair.model\.onnx: SHA-256 differs.*; reranker is a part of"):
        read_file(folder, PART, "model.onnx")
