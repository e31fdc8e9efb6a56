"""Two encoders as one: the joined vectors, words in four bits, and a graph that answers as its halves do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

pytest.importorskip("torch")

from kitpick_models.locate import find_model
from kitpick_models.manifest import read_manifest
from kitpick_models.runtime import load_encoder
from kitpick_training.export.apart import take_apart
from kitpick_training.export.pair import Half, join, packed_words, turned

WORDS = ("send", "read", "delete", "list", "an email", "a file", "users", "invoices", "in Paris", "of May")
TEXTS = [f"{a} {b} {c}" for a in WORDS[:4] for b in WORDS[4:8] for c in WORDS[8:]]


def unit(rng: np.random.Generator, rows: int, numbers: int) -> np.ndarray:
    found = rng.normal(size=(rows, numbers)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


@given(st.integers(0, 10**6), st.floats(0.1, 4.0))
def test_with_all_numbers_the_products_are_the_weighted_cosines(seed: int, weight: float) -> None:
    rng = np.random.default_rng(seed)
    first, second = unit(rng, 9, 4), unit(rng, 9, 6)
    matrices = turned([first, second], [1.0, weight], 10)
    joined = first @ matrices[0] + second @ matrices[1]
    wanted = (first @ first.T + weight * second @ second.T) / (1 + weight)
    np.testing.assert_allclose(joined @ joined.T, wanted, atol=1e-5)


@given(st.integers(0, 10**6))
def test_no_number_of_a_word_is_further_off_than_a_step(seed: int) -> None:
    table = np.random.default_rng(seed).normal(size=(5, 128)).astype(np.float32)
    found = packed_words(table)
    largest = np.abs(table.reshape(5, 2, 64)).max(axis=2).repeat(64, axis=1).reshape(5, 128)
    assert found.pairs.nbytes == table.size // 2
    assert (np.abs(found.unpacked() - table) <= 0.21 * largest).all()


@pytest.mark.needs("weights", "onnxruntime")
def test_the_graph_answers_as_both_halves_together(tmp_path: Path) -> None:
    first_half = take_apart(find_model("encoder-pair"), tmp_path / "halves").folders[0]
    folders = [first_half, find_model("minilm-l6")]
    manifest = replace(read_manifest(folders[0]), name="pair", files={}, figures=(), dimensions=32)
    join([Half(folders[0], 1.0), Half(folders[1], 0.5)], TEXTS, tmp_path / "pair", manifest, reference=8)
    pair = load_encoder(tmp_path / "pair")
    first, second = (load_encoder(folder).encode(TEXTS) for folder in folders)
    wanted = (first @ first.T + 0.5 * second @ second.T) / 1.5
    vectors = pair.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), 32)
    assert np.abs(vectors @ vectors.T - wanted).max() < 0.05
    np.testing.assert_array_equal(vectors[3], pair.encode([TEXTS[3]])[0])
