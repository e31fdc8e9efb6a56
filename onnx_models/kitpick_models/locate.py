"""Finds models and model sets: in a folder that is named, among the shipped ones, and in data packages."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import get_args

import msgspec

from kitpick_foundation.decoding import convert_to
from kitpick_models.errors import CorruptModel, UnknownModel, UnknownModelSet
from kitpick_models.manifest import MANIFEST, SHIPPED, Kind, Manifest, read_manifest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROLES: tuple[Kind, ...] = get_args(Kind)
VARIABLE = "KITPICK_MODELS"
DEFAULT_SET = "default"
SET = "set.toml"
LEFT_OUT = "none"
"""Stands for no model, in place of the name of a classifier or a list ranker."""
_PACKAGES = "kitpick.models"
"""Entry points of data packages: modules beside whose file is a folder `weights`."""


class ModelSetFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What `set.toml` says: models that belong together, by name, and what all of them agree on.

    `tokenizer` is the SHA-256 of the file that all of them read, `template` the version of the texts that
    they learned from, and `thresholds` has those of every model by role. `kitpick models verify` compares
    them with the manifests.
    """

    name: str
    encoder: str
    cross_encoder: str
    query_kind: str = LEFT_OUT
    list_ranker: str = LEFT_OUT
    tokenizer: str = ""
    template: int = 1
    thresholds: dict[Kind, dict[str, float]] = {}

    def names(self) -> dict[Kind, str]:
        """Role → name, `LEFT_OUT` where the set has none."""
        return {role: getattr(self, role) for role in ROLES}


class ChosenModels(msgspec.Struct, frozen=True):
    """The models in use, by name or folder: those of a set, and those that are put in their place."""

    set_name: str
    encoder: str
    cross_encoder: str
    query_kind: str | None
    """None where it is left out, as `list_ranker`."""
    list_ranker: str | None
    replaced: tuple[Kind, ...] = ()
    """Roles whose model is not that of the set."""

    def names(self) -> dict[Kind, str]:
        """Role → name or folder, without what is left out."""
        return {role: name for role in ROLES if (name := getattr(self, role)) is not None}


def model_folders(extra: Path | None = None) -> Iterator[Path]:
    """Folders that may hold models, first wins: `extra` or `$KITPICK_MODELS`, shipped ones, data packages.

    An installed wheel carries the weights inside the package, a checkout beside it.
    """
    named = extra or Path(os.environ.get(VARIABLE) or DEFAULT_SET)
    for place in (named, *SHIPPED):
        if place.is_dir():
            yield place
    yield from _data_packages()


def find_model(name_or_path: str | Path, extra: Path | None = None) -> Path:
    """Folder of a model, by its path or by its name in one of `model_folders`.

    Raises:
        UnknownModel: there is none.
    """
    direct = Path(name_or_path)
    if (direct / MANIFEST).is_file():
        return direct
    if direct.name == str(name_or_path):  # a bare name, not a path that leads somewhere else
        for place in model_folders(extra):
            if (place / direct / MANIFEST).is_file():
                return place / direct
    places = list(model_folders(extra))
    known = sorted({folder.name for folder in _found(places)})
    raise UnknownModel(str(name_or_path), places, known)


def list_models(extra: Path | None = None) -> list[tuple[Path, Manifest]]:
    """Folder and manifest of every model that `find_model` would find by name, ordered by name."""
    first: dict[str, Path] = {}
    for folder in _found(list(model_folders(extra))):
        first.setdefault(folder.name, folder)
    return [(folder, read_manifest(folder)) for _, folder in sorted(first.items())]


def list_sets() -> list[ModelSetFile]:
    """Every model set that can be named, the default one first."""
    places = {
        path.parent.name: path for place in reversed(list(model_folders())) for path in place.glob(f"*/{SET}")
    }
    return sorted(map(_read, places.values()), key=lambda each: (each.name != DEFAULT_SET, each.name))


def find_set(name_or_folder: str = "") -> tuple[ModelSetFile, Path | None]:
    """A model set, by its name or its folder, and the folder that its models are looked for in first.

    Args:
        name_or_folder: empty means `$KITPICK_MODELS`, and without that the default set. A folder without a
            `set.toml` stands for the default set, whose models it may replace by others of the same names.

    Raises:
        UnknownModelSet: there is none.
        CorruptModel: its `set.toml` cannot be read.
    """
    wanted = name_or_folder or os.environ.get(VARIABLE) or DEFAULT_SET
    if Path(wanted).name == wanted:
        for place in (*SHIPPED, *_data_packages()):
            if (place / wanted / SET).is_file():
                return _read(place / wanted / SET), None
    folder = Path(wanted)
    if (folder / SET).is_file():
        return _read(folder / SET), folder
    if folder.is_dir():
        return find_set(DEFAULT_SET)[0], folder
    raise UnknownModelSet(wanted, [each.name for each in list_sets()])


def choose(models: str = "", **given: str) -> ChosenModels:
    """The models of a set, and others in place of some of them.

    `models` is a name or folder as of `find_set`, `given` that of a model by role: empty means the set's,
    `none` none.

    Raises:
        UnknownModelSet, CorruptModel: as `find_set`.
        UnknownModel: a model that is put in place of one of the set's is not there. One of the set's own may
            be missing: what needs it says so.
    """
    found, folder = find_set(models)
    own = found.names()
    wanted = {role: given.get(role) or name for role, name in own.items()}
    replaced = tuple(role for role in ROLES if wanted[role] != own[role])
    encoder, cross_encoder, *heads = (
        _resolved(wanted[role], folder, must_exist=role in replaced) for role in ROLES
    )
    query_kind, list_ranker = map(_unless_left_out, heads)
    return ChosenModels(found.name, encoder, cross_encoder, query_kind, list_ranker, replaced)


def _resolved(name: str, folder: Path | None, *, must_exist: bool) -> str:
    """The folder of a model where the set has one of this name, else the name."""
    if folder is not None and name != LEFT_OUT and (folder / name / MANIFEST).is_file():
        return str(folder / name)
    if must_exist and name != LEFT_OUT:
        find_model(name, folder)
    return name


def _unless_left_out(name: str) -> str | None:
    return None if name == LEFT_OUT else name


def _read(path: Path) -> ModelSetFile:
    try:
        return convert_to(tomllib.loads(path.read_text("utf-8")), ModelSetFile)
    except OSError as error:
        raise CorruptModel(path, f"cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise CorruptModel(path, f"not a model set: {error}") from error


@lru_cache(maxsize=1)
def _data_packages() -> tuple[Path, ...]:
    """The folders of installed data packages. A package that cannot be imported has none."""
    from importlib.metadata import entry_points  # slow to import, and needed for data packages alone

    folders = []
    for found in sorted(entry_points(group=_PACKAGES), key=lambda each: each.name):
        try:
            file = found.load().__file__
        except Exception:  # noqa: BLE001, S112 - somebody else's package: its models are reported as unknown
            continue
        if file and (Path(file).parent / "weights").is_dir():
            folders.append(Path(file).parent / "weights")
    return tuple(folders)


def _found(places: list[Path]) -> list[Path]:
    return [path.parent for place in places for path in sorted(place.glob(f"*/{MANIFEST}"))]
