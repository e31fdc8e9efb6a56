"""Loading models by name or path."""

from __future__ import annotations

from pathlib import Path

from toolrank_models.cross_encoder import CrossEncoder
from toolrank_models.encoder import Encoder
from toolrank_models.errors import UnsupportedModel
from toolrank_models.locate import find_model
from toolrank_models.manifest import Kind, Manifest, read_manifest
from toolrank_models.query_kind import QueryKindClassifier
from toolrank_models.settings import RuntimeSettings

_DEFAULT = RuntimeSettings()


def load_encoder(
    name_or_path: str | Path = "minilm-l6", settings: RuntimeSettings = _DEFAULT, models: Path | None = None
) -> Encoder:
    """An encoder by name (looked up in `models`, `$TOOLRANK_MODELS`, then the shipped ones) or by path.

    Raises:
        UnknownModel, CorruptModel, UnsupportedModel: there is none, it is damaged, or it is something else.
        MissingRuntime, RuntimeClash, ProviderRefused: it cannot run here as asked.
    """
    return Encoder(*_open(name_or_path, "encoder", models), settings)


def load_cross_encoder(
    name_or_path: str | Path = "reranker-l6", settings: RuntimeSettings = _DEFAULT, models: Path | None = None
) -> CrossEncoder:
    """A cross-encoder by name or path; raises like `load_encoder`."""
    return CrossEncoder(*_open(name_or_path, "cross_encoder", models), settings)


def load_query_kind(
    name_or_path: str | Path = "query-kind", models: Path | None = None
) -> QueryKindClassifier:
    """The single/multi classifier by name or path; raises like `load_encoder`, but needs no onnxruntime."""
    return QueryKindClassifier(*_open(name_or_path, "query_kind", models))


def _open(name_or_path: str | Path, kind: Kind, models: Path | None) -> tuple[Path, Manifest]:
    folder = find_model(name_or_path, models)
    manifest = read_manifest(folder)
    if manifest.kind != kind:
        raise UnsupportedModel(f"{folder}: a model of kind {manifest.kind!r}, wanted is {kind!r}")
    return folder, manifest
