"""Stages of other installed packages, found by the entry points of the group `kitpick.stages`."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from kitpick_rescorers.errors import UnusableStage
from kitpick_rescorers.stages.base import Stage

if TYPE_CHECKING:  # reads the metadata of all packages: loaded where a profile names a stage that is not ours
    from importlib.metadata import EntryPoint

GROUP = "kitpick.stages"


@lru_cache(maxsize=64)
def installed_stage(name: str) -> type[Stage] | None:
    """The stage that an installed package registers under a name; None where none does.

    Raises:
        UnusableStage: what is registered cannot be imported, or is no stage of this name.
    """
    from importlib.metadata import entry_points

    found = next(iter(entry_points(group=GROUP, name=name)), None)
    return None if found is None else _loaded(found)


def _loaded(point: EntryPoint) -> type[Stage]:
    try:
        stage = point.load()
    except Exception as error:
        raise UnusableStage(point.name, point.value, f"{type(error).__name__}: {error}") from error
    if not (isinstance(stage, type) and issubclass(stage, Stage)):
        raise UnusableStage(point.name, point.value, "is no subclass of kitpick_rescorers.stages.Stage")
    if stage.__struct_config__.tag != point.name:
        raise UnusableStage(point.name, point.value, f"give the class tag={point.name!r}")
    return stage
