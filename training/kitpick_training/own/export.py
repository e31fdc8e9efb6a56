"""Exporting a model of one's own: int8 scales and reference answers come from one's own catalog."""

from __future__ import annotations

import itertools
from pathlib import Path

import msgspec

from kitpick.catalog import Catalog
from kitpick_engines.document import ApiDocument
from kitpick_engines.text import rerank_text, retrieval_text, split_identifier
from kitpick_models.errors import UnsupportedModel
from kitpick_models.manifest import Kind, Manifest, Storage
from kitpick_models.verify import Verification, verify
from kitpick_rescorers.errors import EmptyCatalog
from kitpick_training.errors import require_torch

CALIBRATION, REFERENCE = 256, 44
"""Texts that int8 scales are found from, and texts whose answers by the original are kept."""


class Export(msgspec.Struct, frozen=True, kw_only=True):
    """What to export, and what its manifest says."""

    source: Path
    """A transformers or sentence-transformers folder: a BERT with mean pooling, or with one logit."""
    out: Path
    kind: Kind
    storage: Storage = "static_int8"
    licence: str
    max_tokens: int = 256


def export_model(catalog: Catalog, export: Export) -> Verification:
    """Writes a model folder, replacing a previous one whole, and verifies it.

    Raises:
        MissingExtra: the extra `train` is not installed.
        UnsupportedModel: no BERT with GELU, or a kind that has no transformer.
        EmptyCatalog: there are no texts to calibrate with.
        ModelNotWritten: the disk refused; a previous model is as it was.
    """
    require_torch()
    from kitpick_training.export import export_cross_encoder, export_encoder
    from kitpick_training.export.original import read_cross_encoder, read_encoder
    from kitpick_training.publication import replacement_of

    if export.kind not in {"encoder", "cross_encoder"}:
        raise UnsupportedModel(f"a model of kind {export.kind!r} has no transformer to export")
    if not (export.source / "config.json").is_file() or not (export.source / "tokenizer.json").is_file():
        raise UnsupportedModel(f"{export.source}: no transformers folder with config.json and tokenizer.json")
    documents = _documents(catalog)
    manifest = Manifest(
        export.out.name,
        export.kind,
        "1",
        export.source.name,
        export.licence,
        storage=export.storage,
        score_scale="cosine" if export.kind == "encoder" else "logit",
        max_tokens=export.max_tokens,
    )
    cut = max(1, len(documents) - REFERENCE)
    with replacement_of(export.out) as staged:
        if export.kind == "encoder":
            texts = [retrieval_text(document) for document in documents]
            export_encoder(read_encoder(export.source), staged, manifest, texts[:cut], texts[cut:] or texts)
        else:
            pairs = _pairs(documents)
            original = read_cross_encoder(export.source)
            export_cross_encoder(original, staged, manifest, pairs[:cut], pairs[cut:] or pairs)
    return verify(export.out)


def _documents(catalog: Catalog) -> list[ApiDocument]:
    index, _ = catalog.live()
    found = catalog.engine.documents(index)
    documents = [stored.document for stored in itertools.islice(found, CALIBRATION + REFERENCE)]
    if not documents:
        raise EmptyCatalog(catalog.engine.url)
    return documents


def _pairs(documents: list[ApiDocument]) -> list[tuple[str, str]]:
    """The name of an API as a request, alternately with its own text and with the text of the next one."""
    following = [*documents[1:], documents[0]]
    return [
        (split_identifier(document.api), rerank_text(document if number % 2 else other))
        for number, (document, other) in enumerate(zip(documents, following, strict=True))
    ]
