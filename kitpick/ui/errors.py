"""Errors of the explain page. Their statuses are those of the service."""

from __future__ import annotations

from pathlib import Path

from kitpick_foundation.errors import InvalidSetting
from kitpick_service.errors import Forbidden, NotFound, Overloaded, Unready


class NoMarks(NotFound):
    """No file for marks is configured."""

    def __init__(self) -> None:
        super().__init__("marks go nowhere: start the server with --marks FILE")


class MarksProblem(Unready):
    """The file of marks cannot be read or written."""


class UnknownApi(NotFound):
    """An API that does not exist or that this caller may not see."""

    def __init__(self, api: str) -> None:
        super().__init__(f"no API {api[:200]!r} that you may see: ask again, the catalog may have changed")


class NoPlace(InvalidSetting):
    """A file of the page's that cannot be made where it is to be."""

    def __init__(self, option: str, path: Path, why: str) -> None:
        super().__init__(f"{option} {path}: {why}: name a file in a folder that this process may write to")


class NoAdapt(Unready):
    """A run that adapts the profile cannot be started."""


class NoAdapted(NotFound):
    """No file for an adapted profile is configured."""

    def __init__(self) -> None:
        super().__init__("an adapted profile goes nowhere: start the server with --adapted FILE")


class NotOperator(Forbidden):
    """A caller that does not run the service."""

    def __init__(self) -> None:
        super().__init__("only operators adapt the profile: the entry of their key has `operator = true`")


class AdaptUnderWay(Overloaded):
    """One run is under way, and there is one at a time."""

    def __init__(self) -> None:
        super().__init__("a profile is being adapted: wait for its end, or stop it", 10)
