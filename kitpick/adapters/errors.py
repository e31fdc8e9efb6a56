"""Errors of adapters. Their text says what is wrong, where, and the cure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kitpick_foundation.errors import KitpickError, MissingExtra


class InvalidArguments(KitpickError):
    """Arguments of a search that do not exist, or values out of their range."""


class TooManyTools(KitpickError):
    """A list of tools that is too long to be ranked while somebody waits."""

    def __init__(self, count: int, most: int) -> None:
        super().__init__(
            f"{count:,} tools in one request: at most {most:,} are ranked; ingest them and search"
        )


class CatalogTooLarge(KitpickError):
    """More tools than a provider takes in one request."""

    def __init__(self, count: int, most: int) -> None:
        super().__init__(f"{count:,} tools can be seen, a request takes {most:,}: narrow them with `filter`")


class UnknownPinnedTool(KitpickError):
    """A tool that should always be loaded, and is not in the catalog."""

    def __init__(self, tool_id: str) -> None:
        super().__init__(
            f"pinned: no tool {tool_id!r} can be seen in the catalog: take an id as search gives it"
        )


class OwnToolClash(KitpickError):
    """A tool of the agent itself whose name is missing or taken: a call would not say which one is meant."""

    def __init__(self, name: str) -> None:
        super().__init__(f"pinned: the name {name[:100]!r} is empty or taken: give the tool another one")


class AsyncRun(KitpickError):
    """A call that has to be awaited, where nothing awaits."""

    def __init__(self) -> None:
        super().__init__(
            "run: what it gives has to be awaited, and is not awaited here: define it with `async def` for a "
            "framework that awaits (of a deferral, `aanswers`), or hand in one that waits itself"
        )


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Imports of the package behind an extra.

    Raises:
        MissingExtra: it is not there, or lacks what is imported from it.
    """
    try:
        yield
    except ImportError as error:
        raise MissingExtra(extra, f"kitpick.adapters.{extra.replace('-', '_')}", str(error)) from error
