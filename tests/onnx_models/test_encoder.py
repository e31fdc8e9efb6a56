"""The shipped encoder: unit vectors that depend on nothing but their text."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitpick_models.encoders import Encoder
from kitpick_models.errors import CorruptModel, UnsupportedModel
from kitpick_models.runtime import load_cross_encoder, load_encoder
from kitpick_models.settings import RuntimeSettings

pytestmark = pytest.mark.needs("weights", "onnxruntime")

TEXTS = [
    "weather",
    "List the buckets of an account. Parameters: region, prefix, page size.",
    "I want to book a flight to Rome, find a hotel near the station and know the weather.",
    "",
    "返回用户的订单列表",
    " ".join(f"parameter{i}" for i in range(300)),
]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder(settings=RuntimeSettings(threads=2))


def test_vectors_are_unit_rows_of_the_declared_size(encoder):
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), encoder.dimensions)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_no_texts_make_no_rows(encoder):
    assert encoder.encode([]).shape == (0, encoder.dimensions)


def test_a_vector_is_the_same_to_the_last_bit_alone_and_in_company(encoder):
    together = encoder.encode(TEXTS)
    for row, text in enumerate(TEXTS):
        assert np.array_equal(encoder.encode([text])[0], together[row])


@settings(max_examples=15, deadline=None)
@given(lengths=st.lists(st.integers(0, 30), min_size=1, max_size=8), data=st.data())
def test_order_and_company_never_matter(encoder, lengths, data):
    texts = [" ".join(f"word{n}" for n in range(length)) for length in lengths]
    order = data.draw(st.permutations(range(len(texts))))
    assert np.array_equal(encoder.encode([texts[i] for i in order]), encoder.encode(texts)[order])


@settings(max_examples=30, deadline=None)
@given(text=st.text(st.characters(), max_size=80))
def test_any_text_at_all_has_a_finite_unit_vector(encoder, text):
    vector = encoder.encode([text])[0]
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    "text", ["\ud800", "a\udfffb", "nul \0 byte", "x" * 100_000, "word " * 20_000, "\n" * 100_000]
)
def test_hostile_texts_are_answered(encoder, text):
    assert np.isfinite(encoder.encode([text])).all()


def test_meaning_brings_texts_together(encoder):
    forecast, weather, invoice = encoder.encode(["forecast for tomorrow", "weather API", "send an invoice"])
    assert forecast @ weather > forecast @ invoice


def test_threads_share_an_encoder(encoder):
    expected, found = encoder.encode(TEXTS), {}

    def work(name: int) -> None:
        found[name] = encoder.encode(TEXTS)

    workers = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 4
    assert all(np.array_equal(vectors, expected) for vectors in found.values())


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_one_flipped_bit_keeps_a_model_from_loading(encoder_copy: Path, name: str):
    content = bytearray((encoder_copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (encoder_copy / name).write_bytes(content)
    with pytest.raises(CorruptModel, match=name):
        load_encoder(encoder_copy)


def test_a_missing_file_keeps_a_model_from_loading(encoder_copy: Path):
    (encoder_copy / "model.onnx").unlink()
    with pytest.raises(CorruptModel, match="cannot be read"):
        load_encoder(encoder_copy)


def test_an_encoder_is_not_taken_for_a_cross_encoder():
    with pytest.raises(UnsupportedModel, match="cross_encoder"):
        load_cross_encoder("minilm-l6")
