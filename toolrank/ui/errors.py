"""What the explain page refuses; statuses are those of the service's errors."""

from __future__ import annotations

from pathlib import Path

from toolrank_rescorers.service.errors import Forbidden, InvalidSetting, NotFound, Unready


class CatalogProblem(Unready):
    """The catalog cannot be searched; the cure is the operator's."""


class ForeignOrigin(Forbidden):
    """A request that another site's page has made a browser send."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}: this page answers to itself alone; open it under the address it was given")


class NoMarks(NotFound):
    """Nobody said where marks go."""

    def __init__(self) -> None:
        super().__init__("marks go nowhere: start the server with --marks FILE")


class MarksProblem(Unready):
    """The file of marks cannot be read or written."""


class UnknownApi(NotFound):
    """An API that is not in the catalog, or not for this caller."""

    def __init__(self, api: str) -> None:
        super().__init__(f"no API {api[:200]!r} that you may see: ask again, the catalog may have changed")


class OpenToOthers(InvalidSetting):
    """A page that others could open, without keys."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"--ui on --host {host}: others could reach the catalog: name --keys, or stay on 127.0.0.1"
        )


class NoPlaceForMarks(InvalidSetting):
    """A file of marks whose folder is not there."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"--marks {path}: there is no folder {path.parent}")
