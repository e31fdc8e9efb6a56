"""Finds and loads models by path or name: in a further folder, or among those of the package."""

from __future__ import annotations

import os
from pathlib import Path

from kitpick_models.encoders import CrossEncoder, Encoder
from kitpick_models.errors import UnknownModel, UnsupportedModel
from kitpick_models.heads import ListRanker, QueryKindClassifier
from kitpick_models.manifest import MANIFEST, Kind, Manifest, read_manifest
from kitpick_models.settings import (
    DEFAULT_CROSS_ENCODER,
    DEFAULT_ENCODER,
    DEFAULT_LIST_RANKER,
    DEFAULT_QUERY_KIND,
    RuntimeSettings,
)

VARIABLE = "KITPICK_MODELS"


def model_folders(extra: Path | None = None) -> list[Path]:
    """Folders that may hold models, first wins: `extra` or `$KITPICK_MODELS`, then the shipped ones.

    An installed wheel carries the weights inside the package, a checkout beside it.
    """
    named = extra or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    package = Path(__file__).resolve().parent
    places = [named, package / "weights", package.parent / "weights"]
    return [place for place in places if place is not None and place.is_dir()]


def find_model(name_or_path: str | Path, extra: Path | None = None) -> Path:
    """Folder of a model, by its path or by its name in one of `model_folders`.

    Raises:
        UnknownModel: there is none.
    """
    direct = Path(name_or_path)
    if (direct / MANIFEST).is_file():
        return direct
    places = model_folders(extra)
    if direct.name == str(name_or_path):  # a bare name, not a path that leads somewhere else
        for place in places:
            if (place / direct / MANIFEST).is_file():
                return place / direct
    known = sorted({folder.name for folder in _found(places)})
    raise UnknownModel(str(name_or_path), places, known)


def list_models(extra: Path | None = None) -> list[tuple[Path, Manifest]]:
    """Folder and manifest of every model that `find_model` would find by name, ordered by name."""
    first: dict[str, Path] = {}
    for folder in _found(model_folders(extra)):
        first.setdefault(folder.name, folder)
    return [(folder, read_manifest(folder)) for _, folder in sorted(first.items())]


def _found(places: list[Path]) -> list[Path]:
    return [path.parent for place in places for path in sorted(place.glob(f"*/{MANIFEST}"))]


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
