"""A model folder opens as the torch model that it was exported from, up to its quantisation."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from kitpick_models.errors import CorruptModel, UnsupportedModel  # noqa: E402
from kitpick_models.manifest import MODEL, Manifest, write_manifest  # noqa: E402
from kitpick_training.export import export_cross_encoder, export_encoder  # noqa: E402
from kitpick_training.export.original import Original, original_embeddings, original_logits  # noqa: E402
from kitpick_training.weights import reopen  # noqa: E402

pytestmark = pytest.mark.needs("torch")

PAIRS = [
    ("get weather", "weather"),
    ("get song", "price"),
    ("get user", "user ticket"),
    ("get recipe", "song"),
]
TEXTS = [text for _, text in PAIRS]


def manifest(storage):
    return Manifest("tiny", "cross_encoder", "1", "none", "Apache-2.0", storage=storage, max_tokens=16)


@pytest.mark.parametrize(("storage", "most"), [("fp32", 1e-5), ("weight_int8", 0.01), ("static_int8", 0.01)])
def test_the_logits_of_a_cross_encoder_come_back(make_encoder, tmp_path, storage, most):
    encoder = make_encoder()
    original = Original(encoder.model.eval(), encoder.tokenizer.to_str().encode())
    export_cross_encoder(original, tmp_path / "model", manifest(storage), PAIRS, PAIRS)
    found = reopen(tmp_path / "model")
    again = original_logits(Original(found.module, found.tokenizer), PAIRS, 16)
    assert np.abs(again - original_logits(original, PAIRS, 16)).max() < most


@pytest.mark.parametrize(("storage", "most"), [("fp32", 1e-5), ("static_int8", 0.05)])
def test_the_vectors_of_an_encoder_come_back(make_sentence_encoder, tmp_path, storage, most):
    encoder = make_sentence_encoder()
    original = Original(encoder.model.eval(), encoder.tokenizer.to_str().encode())
    export_encoder(original, tmp_path / "model", manifest(storage), TEXTS, TEXTS)
    found = reopen(tmp_path / "model")
    again = original_embeddings(Original(found.module, found.tokenizer), TEXTS, 16)
    assert np.abs(again - original_embeddings(original, TEXTS, 16)).max() < most


def test_a_flipped_byte_is_found_before_anything_is_trained(make_encoder, tmp_path):
    encoder = make_encoder()
    original = Original(encoder.model.eval(), encoder.tokenizer.to_str().encode())
    export_cross_encoder(original, tmp_path / "model", manifest("fp32"), PAIRS, PAIRS)
    data = bytearray((tmp_path / "model" / MODEL).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "model" / MODEL).write_bytes(data)
    with pytest.raises(CorruptModel, match="SHA-256"):
        reopen(tmp_path / "model")


def test_a_manifest_of_a_newer_format_is_refused(make_encoder, tmp_path):
    encoder = make_encoder()
    original = Original(encoder.model.eval(), encoder.tokenizer.to_str().encode())
    written = export_cross_encoder(original, tmp_path / "model", manifest("fp32"), PAIRS, PAIRS)
    write_manifest(tmp_path / "model", msgspec.structs.replace(written, format=99))
    with pytest.raises(UnsupportedModel, match="format 99"):
        reopen(tmp_path / "model")


def test_a_head_has_no_transformer_to_train(tmp_path):
    write_manifest(tmp_path, Manifest("head", "query_kind", "1", "none", "Apache-2.0"))
    with pytest.raises(UnsupportedModel, match="no transformer"):
        reopen(tmp_path)
