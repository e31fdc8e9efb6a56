"""Verifying finds damage, replays the original's answers and compares rows alone with rows in company."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from scipy.stats import kendalltau

from kitpick_models.errors import CorruptModel, UnknownModel
from kitpick_models.locate import find_model
from kitpick_models.manifest import REFERENCE, digest, read_manifest, write_manifest
from kitpick_models.verify import EncoderReference, kendall_tau, pack, read_reference, verify

pytestmark = pytest.mark.needs("weights", "onnxruntime")

SHIPPED = (
    "encoder-pair", "reranker-l6", "query-kind-pair", "list-ranker-pair",
    "minilm-l6", "query-kind", "list-ranker",
)  # fmt: skip


def test_the_shipped_encoder_is_sound_and_close_to_the_original():
    found = verify("minilm-l6")
    assert found.sound, found.faults
    assert found.figures["mean_cosine"] > 0.998


@pytest.mark.parametrize("name", ["minilm-l6", "reranker-l6", "encoder-pair"])
def test_two_hundred_answers_of_a_torch_model_travel_with_a_shipped_one(name: str):
    folder = find_model(name)
    stored = read_reference(folder, read_manifest(folder))
    items = stored.texts if isinstance(stored, EncoderReference) else stored.pairs
    assert len(set(items)) == len(items) == 200


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_model_says_what_it_does_on_each_benchmark_with_date_and_command(name: str):
    figures = read_manifest(find_model(name)).figures
    for dataset in ("toolbench", "toollens"):
        found = [figure for figure in figures if figure.benchmark.startswith(f"{dataset} (")]
        assert {"recall@5", "ndcg@5", "comp@5"} <= {figure.figure for figure in found}
        assert all(
            figure.date and figure.command.startswith(("kitpick eval", "scripts/")) for figure in found
        )


def test_a_changed_file_is_reported_by_name(encoder_copy: Path):
    with (encoder_copy / "model.onnx").open("r+b") as file:
        file.seek(10_000)
        file.write(b"?")
    found = verify(encoder_copy)
    assert not found.sound
    assert "model.onnx" in found.faults[0]


def test_answers_unlike_the_original_are_a_fault(encoder_copy: Path):
    manifest = read_manifest(encoder_copy)
    stored = read_reference(encoder_copy, manifest)
    assert isinstance(stored, EncoderReference)
    turned = np.roll(stored.array(manifest.dimensions), 1, axis=0)
    content = msgspec.json.encode(EncoderReference(stored.texts, pack(turned)))
    (encoder_copy / REFERENCE).write_bytes(content)
    write_manifest(
        encoder_copy,
        msgspec.structs.replace(manifest, files={**manifest.files, REFERENCE: digest(content)}),
    )
    assert "cosine to the original" in verify(encoder_copy).faults[0]


def test_a_broken_reference_is_corrupt(encoder_copy: Path):
    manifest = read_manifest(encoder_copy)
    (encoder_copy / REFERENCE).write_bytes(b"{}")
    sealed = msgspec.structs.replace(manifest, files={**manifest.files, REFERENCE: digest(b"{}")})
    with pytest.raises(CorruptModel, match="not a reference"):
        read_reference(encoder_copy, sealed)


def test_an_unknown_model_cannot_be_verified():
    with pytest.raises(UnknownModel):
        verify("no-such-model")


def test_kendalls_tau_agrees_with_scipy():
    rng = np.random.default_rng(3)
    a = rng.normal(size=60).astype(np.float32)
    b = (a + rng.normal(size=60)).astype(np.float32)
    assert kendall_tau(a, b) == pytest.approx(kendalltau(a, b).statistic)
