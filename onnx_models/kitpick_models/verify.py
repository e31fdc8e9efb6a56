"""Is a model what its manifest says, and does it answer here as the original did?"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_foundation.decoding import UNDECODABLE, decode_as
from kitpick_foundation.errors import MissingExtra
from kitpick_models.errors import CorruptModel, ModelError, UnknownModel
from kitpick_models.locate import LEFT_OUT, ModelSetFile, find_model
from kitpick_models.manifest import REFERENCE, TOKENIZER, Kind, Manifest, Storage, read_file, read_manifest
from kitpick_models.runtime import load_cross_encoder, load_encoder, load_list_ranker, load_query_kind
from kitpick_models.settings import RuntimeSettings

Array = NDArray[np.float32]


class EncoderReference(msgspec.Struct, frozen=True, tag="encoder"):
    """Texts and the original's vectors, (n, dimensions) as base64 of little-endian float16."""

    texts: tuple[str, ...]
    vectors: str

    def array(self, dimensions: int) -> Array:
        """The vectors, float32 (n, dimensions)."""
        flat = np.frombuffer(base64.b64decode(self.vectors), "<f2").astype(np.float32)
        return flat.reshape(len(self.texts), dimensions)


class PairReference(msgspec.Struct, frozen=True, tag="cross_encoder"):
    """Pairs (query, text) and the original's logits."""

    pairs: tuple[tuple[str, str], ...]
    logits: tuple[float, ...]


class ListReference(msgspec.Struct, frozen=True, tag="list_ranker"):
    """Features of candidates, (n, features), and the original's logits, (n,)."""

    rows: tuple[tuple[float, ...], ...]
    logits: tuple[float, ...]


Reference = EncoderReference | PairReference | ListReference


def read_reference(folder: Path, manifest: Manifest) -> Reference:
    """The stored answers.

    Raises:
        CorruptModel: absent, changed or unreadable.
    """
    data = read_file(folder, manifest, REFERENCE)
    try:
        found = decode_as(data, EncoderReference | PairReference | ListReference)
        _require_answers(found, manifest.dimensions)
    except (*UNDECODABLE, ValueError) as error:
        raise CorruptModel(folder / REFERENCE, f"not a reference: {error}") from error
    return found


def _require_answers(reference: Reference, dimensions: int) -> None:
    """Raises ValueError unless there is one answer for each question."""
    if isinstance(reference, EncoderReference):
        reference.array(dimensions)
    elif len(reference.logits) != len(
        reference.pairs if isinstance(reference, PairReference) else reference.rows
    ):
        raise ValueError("not as many logits as there are questions")


def pack(vectors: Array) -> str:
    """Vectors as base64 of little-endian float16."""
    return base64.b64encode(np.ascontiguousarray(vectors, "<f2").tobytes()).decode("ascii")


LEAST_COSINE: dict[Storage, float] = {
    "fp32": 0.9999,
    "fp16": 0.9995,
    "weight_int8": 0.998,
    "static_int8": 0.99,
}
"""Cosine to the original's vector that every stored text must reach."""
LEAST_TAU: dict[Storage, float] = {"fp32": 0.995, "fp16": 0.99, "weight_int8": 0.97, "static_int8": 0.93}
"""Kendall's τ between the logits and the original's that the stored pairs must reach."""
MOST_LOGIT_DIFFERENCE = 1e-4
"""Largest difference between trees summed in float32 and in float64."""
_ALONE = 12
"""Texts that are run again one at a time."""
_DEFAULT = RuntimeSettings()


class Verification(msgspec.Struct, frozen=True):
    """Outcome of `verify`. `figures` are the measured agreements, `faults` say what is wrong."""

    identity: str
    figures: dict[str, float]
    faults: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


def verify(
    name_or_path: str | Path, settings: RuntimeSettings = _DEFAULT, models: Path | None = None
) -> Verification:
    """Checks every digest, replays the stored answers, and compares rows alone with rows in company.

    Raises:
        UnknownModel: there is none.
        CorruptModel, UnsupportedModel: its manifest cannot be read. Any other damage is in `faults`.
    """
    folder = find_model(name_or_path, models)
    manifest = read_manifest(folder)
    faults = _digest_faults(folder, manifest)
    figures: dict[str, float] = {}
    if not faults:
        try:
            figures, faults = _replay(folder, manifest, settings)
        except (ModelError, MissingExtra) as error:
            faults = [str(error)]
    return Verification(manifest.identity, figures, tuple(faults))


def verify_set(models: ModelSetFile) -> Verification:
    """Checks that the models of a set are there and belong together; `verify` checks each by itself.

    Raises:
        CorruptModel, UnsupportedModel: a manifest cannot be read. Any other fault is in `faults`.
    """
    found: dict[Kind, Manifest] = {}
    faults: list[str] = []
    for role, name in models.names().items():
        if name != LEFT_OUT:
            try:
                found[role] = read_manifest(find_model(name))
            except UnknownModel as error:
                faults.append(str(error))
    for role, manifest in found.items():
        faults += _member_faults(models, role, manifest, found)
    return Verification(f"model set {models.name}", {}, tuple(faults))


def _member_faults(
    models: ModelSetFile, role: Kind, manifest: Manifest, beside: dict[Kind, Manifest]
) -> Iterator[str]:
    """What a model of a set has otherwise than the set says, or than the models beside it."""
    told = {
        "tokenizer": (models.tokenizer, manifest.files.get(TOKENIZER, models.tokenizer)),
        "template": (models.template, manifest.template),
        "thresholds": (models.thresholds.get(role, {}), manifest.thresholds),
        "kind": (role, manifest.kind),
    }
    for other in ("encoder", "cross_encoder"):
        learned = getattr(manifest, other)
        if learned and other in beside:
            told[f"{other} it learned beside"] = (beside[other].identity, learned)
    for name, (wanted, has) in told.items():
        if wanted != has:
            yield f"{manifest.name}: {name} is {has}, the set has {wanted}: correct the set's set.toml"


def kendall_tau(a: Array, b: Array) -> float:
    """Kendall's τ-a of two score lists (n,), n ≥ 2: agreeing minus disagreeing pairs over all pairs."""
    signs = [np.sign(np.subtract.outer(x, x)) for x in (a.astype(np.float64), b.astype(np.float64))]
    return float((signs[0] * signs[1]).sum() / (len(a) * (len(a) - 1)))


def _digest_faults(folder: Path, manifest: Manifest) -> list[str]:
    return [fault for name in manifest.files if (fault := _digest_fault(folder, manifest, name))]


def _digest_fault(folder: Path, manifest: Manifest, name: str) -> str:
    try:
        read_file(folder, manifest, name)
    except CorruptModel as error:
        return str(error)
    return ""


def _replay(
    folder: Path, manifest: Manifest, settings: RuntimeSettings
) -> tuple[dict[str, float], list[str]]:
    if manifest.kind == "query_kind":
        load_query_kind(folder)
        return {}, []
    reference = read_reference(folder, manifest)
    if isinstance(reference, EncoderReference):
        return _replay_encoder(folder, manifest, reference, settings)
    if isinstance(reference, ListReference):
        return _replay_rows(folder, reference, settings)
    return _replay_pairs(folder, manifest, reference, settings)


def _replay_encoder(
    folder: Path, manifest: Manifest, reference: EncoderReference, settings: RuntimeSettings
) -> tuple[dict[str, float], list[str]]:
    encoder = load_encoder(folder, settings)
    found, expected = encoder.encode(reference.texts), reference.array(manifest.dimensions)
    cosines = (found * expected).sum(axis=1) / np.linalg.norm(expected, axis=1)
    alone = np.concatenate([encoder.encode([text]) for text in reference.texts[:_ALONE]])
    figures = {"least_cosine": float(cosines.min()), "mean_cosine": float(cosines.mean())}
    faults = _company_fault(alone, found)
    if figures["least_cosine"] < LEAST_COSINE[manifest.storage]:
        faults.append(f"cosine to the original {figures['least_cosine']:.5f}: {_CURE}")
    return figures, faults


def _replay_rows(
    folder: Path, reference: ListReference, settings: RuntimeSettings
) -> tuple[dict[str, float], list[str]]:
    found = load_list_ranker(folder, settings).score(np.asarray(reference.rows, np.float32))
    most = float(np.abs(found - np.asarray(reference.logits, np.float32)).max())
    faults = [f"a logit differs from the original's by {most:.6f}"] if most > MOST_LOGIT_DIFFERENCE else []
    return {"most_difference": most}, faults


def _replay_pairs(
    folder: Path, manifest: Manifest, reference: PairReference, settings: RuntimeSettings
) -> tuple[dict[str, float], list[str]]:
    model = load_cross_encoder(folder, settings)
    queries = dict.fromkeys(query for query, _ in reference.pairs)
    found = np.empty(len(reference.pairs), np.float32)
    for query in queries:
        rows = [row for row, pair in enumerate(reference.pairs) if pair[0] == query]
        found[rows] = model.score(query, [reference.pairs[row][1] for row in rows])
    query, texts = reference.pairs[0][0], [text for _, text in reference.pairs[:_ALONE]]
    alone = np.concatenate([model.score(query, [text]) for text in texts])
    expected = np.asarray(reference.logits, np.float32)
    figures = {"tau": kendall_tau(found, expected), "most_difference": float(np.abs(found - expected).max())}
    faults = _company_fault(alone, model.score(query, texts))
    if figures["tau"] < LEAST_TAU[manifest.storage]:
        faults.append(f"Kendall's τ to the original {figures['tau']:.4f}: {_CURE}")
    return figures, faults


def _company_fault(alone: Array, together: Array) -> list[str]:
    same = np.array_equal(alone, together[: len(alone)])
    return [] if same else ["a text's numbers depend on its company: this processor runs another kernel"]


_CURE = "below what its storage allows; use a model stored as weight_int8 or fp32 on this processor"
