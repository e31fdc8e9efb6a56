"""Loading models by name or path."""

from __future__ import annotations

from pathlib import Path

from kitpick_models.cross_encoder import CrossEncoder
from kitpick_models.encoder import Encoder
from kitpick_models.errors import UnsupportedModel
from kitpick_models.list_ranker import ListRanker
from kitpick_models.locate import find_model
from kitpick_models.manifest import Kind, Manifest, read_manifest
from kitpick_models.query_kind import QueryKindClassifier
from kitpick_models.settings import (
    DEFAULT_CROSS_ENCODER,
    DEFAULT_ENCODER,
    DEFAULT_LIST_RANKER,
    DEFAULT_QUERY_KIND,
    RuntimeSettings,
)

_DEFAULT = RuntimeSettings()


def load_encoder(
    name_or_path: str | Path = DEFAULT_ENCODER,
    settings: RuntimeSettings = _DEFAULT,
    models: Path | None = None,
) -> Encoder:
    """An encoder by name (looked up in `models`, `$KITPICK_MODELS`, then the shipped ones) or by path.

    Raises:
        UnknownModel, CorruptModel, UnsupportedModel: there is none, it is damaged, or it is something else.
        MissingExtra, RuntimeClash, ProviderRefused: it cannot run here as asked.
    """
    return Encoder(*_open(name_or_path, "encoder", models), settings)


def load_cross_encoder(
    name_or_path: str | Path = DEFAULT_CROSS_ENCODER,
    settings: RuntimeSettings = _DEFAULT,
    models: Path | None = None,
) -> CrossEncoder:
    """A cross-encoder by name or path; raises like `load_encoder`."""
    return CrossEncoder(*_open(name_or_path, "cross_encoder", models), settings)


def load_query_kind(
    name_or_path: str | Path = DEFAULT_QUERY_KIND, models: Path | None = None
) -> QueryKindClassifier:
    """The single/multi classifier by name or path; raises like `load_encoder`, but needs no onnxruntime."""
    return QueryKindClassifier(*_open(name_or_path, "query_kind", models))


def load_list_ranker(
    name_or_path: str | Path = DEFAULT_LIST_RANKER,
    settings: RuntimeSettings = _DEFAULT,
    models: Path | None = None,
) -> ListRanker:
    """A list ranker by name or path; raises like `load_encoder`."""
    return ListRanker(*_open(name_or_path, "list_ranker", models), settings)


def _open(name_or_path: str | Path, kind: Kind, models: Path | None) -> tuple[Path, Manifest]:
    folder = find_model(name_or_path, models)
    manifest = read_manifest(folder)
    if manifest.kind != kind:
        raise UnsupportedModel(f"{folder}: a model of kind {manifest.kind!r}, wanted is {kind!r}")
    return folder, manifest
