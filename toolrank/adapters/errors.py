"""What can go wrong in an adapter: what, where and the cure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from toolrank.errors import ToolrankError


class MissingPackage(ToolrankError, ImportError):
    """The package that an adapter adapts to is not installed, or too old."""

    def __init__(self, extra: str, reason: str) -> None:
        super().__init__(
            f"toolrank.adapters.{extra.replace('-', '_')} needs the extra {extra!r}: "
            f"pip install --upgrade 'toolrank[{extra}]' ({reason})"
        )


class InvalidAsking(ToolrankError):
    """A way of asking that does not exist: an unknown name, or a value that cannot be meant."""


class TooManyTools(ToolrankError):
    """A list of tools that is too long to be ranked while somebody waits."""

    def __init__(self, count: int, most: int) -> None:
        super().__init__(
            f"{count:,} tools in one request: at most {most:,} are ranked; ingest them and search"
        )


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Imports of the package behind an extra.

    Raises:
        MissingPackage: it is not there, or lacks what is imported from it.
    """
    try:
        yield
    except ImportError as error:
        raise MissingPackage(extra, str(error)) from error
