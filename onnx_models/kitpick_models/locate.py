"""Where models live: a path, a further folder, or those that come with the package."""

from __future__ import annotations

import os
from pathlib import Path

from kitpick_models.errors import UnknownModel
from kitpick_models.manifest import MANIFEST, Manifest, read_manifest

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
