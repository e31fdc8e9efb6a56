"""Errors of the explain page. Their statuses are those of the service."""

from __future__ import annotations

from pathlib import Path

from kitpick_foundation.errors import InvalidSetting
from kitpick_rescorers.service.errors import NotFound, Unready


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


class NoPlaceForMarks(InvalidSetting):
    """A file of marks that cannot be made where it is to be."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"--marks {path}: {why}: name a file in a folder that this process may write to")
