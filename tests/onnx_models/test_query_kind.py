"""The head on a query vector: dense layers from a file without code in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kitpick_models.errors import CorruptModel
from kitpick_models.manifest import HEAD, Manifest, digest, write_manifest
from kitpick_models.runtime import load_query_kind


def head(folder: Path, **arrays: np.ndarray) -> Path:
    np.savez(folder / HEAD, **arrays)
    return sealed(folder)


def sealed(folder: Path) -> Path:
    files = {HEAD: digest((folder / HEAD).read_bytes())}
    thresholds = {"multi": 0.6}
    write_manifest(
        folder,
        Manifest("kind", "query_kind", "1", "", "MIT", files=files, thresholds=thresholds, encoder="e@1"),
    )
    return folder


def test_one_layer_is_logistic_regression(tmp_path: Path):
    weight, bias = np.array([[2.0], [-1.0]], np.float32), np.array([0.5], np.float32)
    classifier = load_query_kind(head(tmp_path, weight_0=weight, bias_0=bias))
    vector = np.array([0.3, 0.8], np.float32)
    assert classifier.probability_multi(vector) == pytest.approx(1 / (1 + np.exp(-(0.6 - 0.8 + 0.5))))
    assert (classifier.encoder, classifier.threshold) == ("e@1", 0.6)


def test_hidden_layers_are_rectified(tmp_path: Path):
    first = np.array([[1.0, -1.0]], np.float32)
    second = np.array([[1.0], [10.0]], np.float32)
    zero = np.zeros(2, np.float32)
    classifier = load_query_kind(
        head(tmp_path, weight_0=first, bias_0=zero, weight_1=second, bias_1=zero[:1])
    )
    assert classifier.probability_multi(np.array([1.0], np.float32)) == pytest.approx(1 / (1 + np.exp(-1)))


def test_extreme_vectors_give_a_probability_and_no_overflow(tmp_path: Path):
    weight, bias = np.full((1, 1), 1e6, np.float32), np.zeros(1, np.float32)
    classifier = load_query_kind(head(tmp_path, weight_0=weight, bias_0=bias))
    assert classifier.probability_multi(np.array([1.0], np.float32)) == 1
    assert classifier.probability_multi(np.array([-1.0], np.float32)) == 0


@pytest.mark.parametrize("shape", [(3, 2), (3,)])
def test_a_head_that_ends_in_no_single_logit_is_corrupt(tmp_path: Path, shape: tuple[int, ...]):
    with pytest.raises(CorruptModel, match="one column"):
        load_query_kind(head(tmp_path, weight_0=np.ones(shape, np.float32), bias_0=np.ones(1, np.float32)))


def test_a_head_without_layers_is_corrupt(tmp_path: Path):
    with pytest.raises(CorruptModel):
        load_query_kind(head(tmp_path, other=np.ones(1)))


def test_pickled_objects_are_never_loaded(tmp_path: Path):
    with pytest.raises(CorruptModel, match="not a head"):
        load_query_kind(
            head(tmp_path, weight_0=np.array([{"an": "object"}], dtype=object), bias_0=np.ones(1))
        )


def test_what_is_no_archive_is_corrupt(tmp_path: Path):
    (tmp_path / HEAD).write_bytes(b"not an archive")
    with pytest.raises(CorruptModel):
        load_query_kind(sealed(tmp_path))


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"weight_0": np.ones((3, 5)), "bias_0": np.ones(4), "weight_1": np.ones((5, 1))}, "fit one another"),
        ({"weight_0": np.ones((3, 5)), "bias_0": np.ones(5), "weight_1": np.ones((4, 1))}, "fit one another"),
        ({"weight_0": np.full((3, 1), np.nan)}, "finite"),
        ({"weight_0": np.full((3, 1), "x")}, "float32"),
    ],
)
def test_layers_that_cannot_be_computed_are_corrupt(tmp_path: Path, arrays: dict[str, np.ndarray], says: str):
    """They would fail, or answer NaN, with the first request."""
    whole = {"bias_0": np.ones(1), "bias_1": np.ones(1), **arrays}
    used = {name: whole[name] for name in whole if f"weight_{name[-1]}" in whole}
    typed = {name: each.astype(np.float32) if each.dtype.kind == "f" else each for name, each in used.items()}
    with pytest.raises(CorruptModel, match=says):
        load_query_kind(head(tmp_path, **typed))


def test_half_an_archive_is_corrupt(tmp_path: Path):
    whole = (
        head(tmp_path, weight_0=np.ones((3, 1), np.float32), bias_0=np.ones(1, np.float32)) / HEAD
    ).read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:200] + whole[210:], whole.replace(b"NUMPY", b"NUMPI")):
        (tmp_path / HEAD).write_bytes(damaged)
        with pytest.raises(CorruptModel):
            load_query_kind(sealed(tmp_path))
