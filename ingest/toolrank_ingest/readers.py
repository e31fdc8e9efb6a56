"""The kinds of sources there are: how each is written, recognised and opened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from toolrank_ingest.sample import Sample
from toolrank_ingest.source import Source


class Target(NamedTuple):
    """What follows the kind in a specification, and the name that the source shall carry."""

    text: str
    name: str

    @property
    def path(self) -> Path:
        """The text as a path, `~` expanded."""
        return Path(self.text).expanduser()


class Reader(NamedTuple):
    """One kind of source."""

    form: str
    """How a specification of this kind is written, for messages: `toolbench:FILE`."""
    open: Callable[[Target], Source]
    recognises: Callable[[Sample], bool]


def _open_toolbench(target: Target) -> Source:
    from toolrank_ingest.sources.toolbench import ToolBenchSource

    return ToolBenchSource(target.path, target.name)


def _is_toolbench(sample: Sample) -> bool:
    return sample.has("tool_name", "api_name") or sample.has("api_list")


READERS: dict[str, Reader] = {
    "toolbench": Reader("toolbench:FILE", _open_toolbench, _is_toolbench),
}
"""Kind → reader. A bare path is given to the first reader that recognises it."""
