"""Vectors of real texts, kept between runs, and larger catalogs grown from them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from shared_data import ROOT

from kitpick_engines.document import ApiDocument
from kitpick_engines.text import retrieval_text
from kitpick_ingest.source import Source
from kitpick_models.runtime import load_encoder

CACHE = ROOT / "var" / "bench"
Vectors = NDArray[np.float32]


def texts_of(source: Source) -> list[str]:
    """What is embedded of every document of a source."""
    return [retrieval_text(item) for item in source.read() if isinstance(item, ApiDocument)]


def encoded(name: str, texts: Sequence[str], model: str = "minilm-l6") -> Vectors:
    """Unit vectors (n, d) of the texts by the shipped or a named encoder, kept under `var/bench`."""
    encoder = load_encoder(model)
    digest = hashlib.blake2b("\0".join([encoder.manifest.identity, *texts]).encode(), digest_size=6)
    path = CACHE / f"{name}-{digest.hexdigest()}.npy"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, encoder.encode(texts))
    vectors: Vectors = np.load(path)
    return vectors


def grown(rows: Vectors, size: int, seed: int = 0) -> Vectors:
    """The rows, and mixtures of each with a near one and noise until there are `size`."""
    rng = np.random.default_rng(seed)
    extra = size - len(rows)
    first = rng.integers(len(rows), size=extra)
    second = np.concatenate([_near(rows, part, rng) for part in np.array_split(first, -(-extra // 2_000))])
    share = rng.uniform(0.5, 1.0, size=(extra, 1))
    noise = rng.standard_normal((extra, rows.shape[1])) * (0.5 / np.sqrt(rows.shape[1]))
    mixed = share * rows[first] + (1 - share) * rows[second] + noise
    mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
    return np.ascontiguousarray(np.concatenate([rows, mixed]), dtype=np.float32)


def _near(rows: Vectors, of: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """One of the ten nearest of each."""
    ten = np.argpartition(-(rows[of] @ rows.T), 11, axis=1)[:, :11]
    return ten[np.arange(len(of)), rng.integers(11, size=len(of))]
