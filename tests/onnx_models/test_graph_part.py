"""A model whose graph is a part of another's: cut out when it is loaded, and as good as a file of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from kitpick_models.errors import CorruptModel
from kitpick_models.graph_file import GraphFile, read_graph
from kitpick_models.locate import find_model
from kitpick_models.manifest import MODEL, GraphPart, digest, read_manifest, write_manifest
from kitpick_models.runtime import load_encoder
from kitpick_models.verify import EncoderReference, read_reference, verify

pytestmark = pytest.mark.needs("weights", "onnxruntime")
PART, WHOLE = "minilm-l6", "encoder-pair"


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A folder with a part and a whole that a test may damage."""
    shutil.copytree(find_model(PART), tmp_path / PART)
    shutil.copytree(find_model(WHOLE), tmp_path / WHOLE)
    return tmp_path


def test_its_vectors_are_those_of_its_reference() -> None:
    folder = find_model(PART)
    manifest = read_manifest(folder)
    stored = read_reference(folder, manifest)
    assert isinstance(stored, EncoderReference)
    texts, vectors = stored.texts[:24], stored.array(manifest.dimensions)[:24]
    cosines = (load_encoder(folder).encode(texts) * vectors).sum(axis=1)
    assert cosines.min() > 0.99


def test_nothing_of_the_other_half_is_left() -> None:
    folder = find_model(PART)
    manifest = read_manifest(folder)
    cut = read_graph(folder, manifest)
    graph = GraphFile(cut)
    assert manifest.part
    assert graph.outputs == {manifest.part.output}
    assert all(node.output.startswith("1.") for node in graph.nodes)
    whole = (find_model(WHOLE) / MODEL).read_bytes()
    assert b"0.words" in whole
    assert b"0.words" not in cut
    assert b"pair.matrix" not in cut
    assert len(cut) < 0.4 * len(whole)


def test_it_has_no_file_and_is_found_from_a_copy(tmp_path: Path) -> None:
    copy = shutil.copytree(find_model(PART), tmp_path / "mine")
    assert not (copy / MODEL).exists()
    text = ["the weather in Rome"]
    np.testing.assert_array_equal(load_encoder(copy).encode(text), load_encoder(PART).encode(text))


def test_another_whole_beside_it_is_refused_with_what_and_cure(models: Path) -> None:
    with (models / WHOLE / MODEL).open("r+b") as file:
        file.seek(10_000)
        file.write(b"?")
    said = rf"{WHOLE}.model\.onnx: SHA-256 differs.*{PART} is a part of the {WHOLE}.*; install or export"
    with pytest.raises(CorruptModel, match=said):
        load_encoder(models / PART)
    assert WHOLE in verify(models / PART).faults[0]


@pytest.mark.parametrize(
    ("output", "fault"),
    [("1.no such value", "has no such part: no node puts out"), ("0.words", "has no such part")],
)
def test_a_part_that_is_not_there_is_corrupt(models: Path, output: str, fault: str) -> None:
    manifest = read_manifest(models / PART)
    write_manifest(models / PART, replace(manifest, part=GraphPart(WHOLE, output)))
    with pytest.raises(CorruptModel, match=fault):
        load_encoder(models / PART)


@pytest.mark.parametrize("content", [b"", b"no graph", b"\x3a\x02\x2a\x00"])
def test_a_whole_that_is_no_graph_is_corrupt(models: Path, content: bytes) -> None:
    (models / WHOLE / MODEL).write_bytes(content)
    manifest = read_manifest(models / PART)
    files = {**manifest.files, MODEL: digest(content)}
    write_manifest(models / PART, replace(manifest, files=files))
    with pytest.raises(CorruptModel, match="has no such part"):
        load_encoder(models / PART)
