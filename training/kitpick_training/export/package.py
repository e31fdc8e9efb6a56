"""Writes a model folder: graph, tokenizer, reference answers of the original, card and manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_models.batching import pad
from kitpick_models.manifest import MODEL, REFERENCE, TOKENIZER, Manifest, write_folder
from kitpick_models.session import Session
from kitpick_models.settings import RuntimeSettings
from kitpick_models.tokens import TokenIds, pair, single
from kitpick_models.verify import EncoderReference, PairReference, pack
from kitpick_training.export.graph import Graph, Shape
from kitpick_training.export.original import (
    Bert,
    Original,
    bert_weights,
    original_embeddings,
    original_logits,
)
from kitpick_training.export.quantisation import (
    Float,
    InputScale,
    Linear,
    StaticInt8,
    WeightInt8,
    Width,
    choose_scales,
    fold_attention,
)
from kitpick_training.export.transformer import LOGIT, VECTOR, Head, Transformer

Array = NDArray[np.float32]
Tokens = tuple[NDArray[np.int64], NDArray[np.int64]]
_MAX_BYTES = 40_000_000


def export_encoder(
    original: Original, out: Path, manifest: Manifest, calibration: Sequence[str], reference: Sequence[str]
) -> Manifest:
    """Writes an encoder (mean pooling, unit length) and returns its manifest with the digests filled in.

    Args:
        original: the torch model with its tokenizer.
        out: the folder, created where absent.
        manifest: everything but `files` and `dimensions`; `storage` says how weights are stored.
        calibration: real texts, a few hundred, from which `static_int8` finds its scales.
        reference: texts whose vectors by the original are stored beside the model.
    """
    dimensions = original.module.config.hidden_size
    manifest = msgspec.structs.replace(manifest, kind="encoder", dimensions=dimensions)
    ids = TokenIds(original.tokenizer, capacity=0)
    samples = [single(ids, text, manifest.max_tokens) for text in calibration]
    model = _model(original, VECTOR, manifest, samples)
    vectors = original_embeddings(original, reference, manifest.max_tokens)
    stored = EncoderReference(tuple(reference), pack(vectors))
    return _write(out, manifest, original, model, msgspec.json.encode(stored))


def export_cross_encoder(
    original: Original,
    out: Path,
    manifest: Manifest,
    calibration: Sequence[tuple[str, str]],
    reference: Sequence[tuple[str, str]],
) -> Manifest:
    """Writes a cross-encoder with one logit and returns its manifest with the digests filled in.

    Args:
        original: the torch model (`BertForSequenceClassification`, one label) with its tokenizer.
        out: the folder, created where absent.
        manifest: everything but `files`; `storage` says how weights are stored.
        calibration: real pairs (query, text), a few hundred, from which `static_int8` finds its scales.
        reference: pairs whose logits by the original are stored beside the model.
    """
    manifest = msgspec.structs.replace(manifest, kind="cross_encoder")
    ids = TokenIds(original.tokenizer, capacity=0)
    samples = [pair(ids, query, text, manifest.max_tokens) for query, text in calibration]
    model = _model(original, LOGIT, manifest, samples)
    logits = original_logits(original, reference, manifest.max_tokens)
    stored = PairReference(tuple(reference), tuple(map(float, logits)))
    return _write(out, manifest, original, model, msgspec.json.encode(stored))


def _model(original: Original, head: Head, manifest: Manifest, samples: Sequence[Tokens]) -> bytes:
    bert = bert_weights(original.module)
    if manifest.storage == "static_int8":
        bert, scales = fold_attention(bert, _scales(bert, head, samples))
        return _build(bert, head, StaticInt8(scales), int8_words=True)[0]
    if manifest.storage == "weight_int8":
        return _build(bert, head, WeightInt8(), int8_words=True)[0]
    if manifest.storage == "fp16":
        return _build(bert, head, Float(np.float16), int8_words=False, width=np.float16)[0]
    return _build(bert, head, Float(), int8_words=False)[0]


def _build(
    bert: Bert,
    head: Head,
    linear: Linear,
    *,
    int8_words: bool,
    width: Width = np.float32,
    inner: bool = False,
) -> tuple[bytes, Transformer]:
    """The serialised graph; with `inner` it also puts out the inputs of all dense layers."""
    graph = Graph()
    transformer = Transformer(graph, bert, linear, int8_words=int8_words, width=width)
    output, shape = head.write(graph, bert, transformer.hidden_states(head.tokens))
    outputs: list[tuple[str, Shape]] = [(output, shape)]
    if inner:
        outputs += [
            (site.value, ("batch", f"tokens {number}", "channels"))
            for number, site in enumerate(transformer.sites.values())
        ]
    return graph.model(outputs), transformer


def _scales(bert: Bert, head: Head, samples: Sequence[Tokens]) -> Mapping[str, InputScale]:
    model, transformer = _build(bert, head, Float(), int8_words=False, inner=True)
    session = Session(model, "fp32", RuntimeSettings())
    seen: dict[str, list[Array]] = {site: [] for site in transformer.sites}
    for ids, types in samples:
        padded, mask = pad([ids], len(ids))
        for rows, value in zip(seen.values(), session.run_all((padded, mask, types[None]))[1:], strict=True):
            rows.append(value[0])
    weights = {
        site: np.concatenate([bert.linear(name)[0] for name in found.layers], axis=1)
        for site, found in transformer.sites.items()
    }
    return choose_scales(weights, lambda site: np.concatenate(seen.pop(site)), np.random.default_rng(0))


def _write(out: Path, manifest: Manifest, original: Original, model: bytes, reference: bytes) -> Manifest:
    if len(model) > _MAX_BYTES and manifest.storage in {"weight_int8", "static_int8"}:
        raise ValueError(f"{len(model):,} bytes: a shipped model may have {_MAX_BYTES:,}")
    return write_folder(out, manifest, {MODEL: model, TOKENIZER: original.tokenizer, REFERENCE: reference})
