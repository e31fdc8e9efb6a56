"""What `models` compares: a cross-encoder in float32 and in int8, each as a model folder."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec
from rescoring import exported, untrained

from kitpick_models.manifest import MANIFEST, MODEL, Storage

FORMS: tuple[Storage, ...] = ("fp32", "static_int8")


class Forms(NamedTuple):
    """Model folders by form, and the same weights as a transformers folder, for other runtimes."""

    torch: Path
    models: dict[str, Path]


def forms_of(weights: Path | None, folder: Path, data: Path) -> Forms:
    """The forms of a model folder, of a transformers folder, or of random weights.

    Args:
        weights: a model folder keeps its int8 form and its manifest; none: drawn from a seed.
        folder: what is exported is left there, and found there by the next run.
        data: texts for int8 scales.
    """
    if weights is not None and (weights / MANIFEST).is_file():
        torch = _reopened(weights, folder)
        models = {"fp32": folder / "fp32", "static_int8": weights}
    else:
        torch = weights or untrained(folder)
        models = {form: _exported(torch, folder / form, data, form) for form in FORMS}
    return Forms(torch, models)


def _reopened(weights: Path, folder: Path) -> Path:
    """Writes the float32 form under the same manifest, and the torch weights beside it."""
    from kitpick_models.verify import PairReference, read_reference
    from kitpick_training.export import export_cross_encoder
    from kitpick_training.export.original import Original
    from kitpick_training.weights import reopen

    torch = folder / "reopened"
    if (torch / "tokenizer.json").is_file():
        return torch
    opened = reopen(weights)
    reference = read_reference(weights, opened.manifest)
    assert isinstance(reference, PairReference)
    manifest = msgspec.structs.replace(opened.manifest, storage="fp32")
    original = Original(opened.module, opened.tokenizer)
    export_cross_encoder(original, folder / "fp32", manifest, reference.pairs, reference.pairs)
    opened.module.save_pretrained(torch)
    (torch / "tokenizer.json").write_bytes(opened.tokenizer)
    return torch


def _exported(weights: Path, out: Path, data: Path, storage: Storage) -> Path:
    """The weights exported in a form, unless an earlier run left it."""
    if not (out / MODEL).is_file():
        exported(weights, out, data, storage)
    return out
