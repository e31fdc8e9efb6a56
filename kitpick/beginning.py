"""The first steps with a catalog: where its tools are, who uses it, where it is stored, what to try."""

from __future__ import annotations

from pathlib import Path

import msgspec

from kitpick.catalog import Catalog
from kitpick_engines.document import ApiDocument
from kitpick_foundation.errors import KitpickError

FILE = "kitpick.toml"
_LIVE = "mcp:"


class AlreadyBegun(KitpickError):
    """A configuration that would be overwritten."""

    def __init__(self, file: Path) -> None:
        super().__init__(f"{file}: is there already: take another folder, or --force to write it anew")


class Beginning(msgspec.Struct, frozen=True):
    """The answers to three questions."""

    tools: str
    """A source, as `kitpick ingest` takes it."""
    client: str
    """Name of a client, or "none"."""
    store: str
    """URL of the catalog."""


def write_config(folder: Path, begun: Beginning, force: bool = False) -> Path:
    """Writes `kitpick.toml`, which `kitpick mcp --config` reads.

    A live MCP server becomes an upstream of which nothing may be called yet.

    Raises:
        AlreadyBegun: the file is there, and `force` is false.
    """
    file = folder / FILE
    if file.exists() and not force:
        raise AlreadyBegun(file)
    lines = [
        "# Made by `kitpick init`, for `kitpick mcp --config kitpick.toml`: docs/mcp.md names every field.",
        f"# The tools came from {begun.tools!r}; `kitpick ingest` takes their changes in.",
    ]
    if begun.tools.startswith(_LIVE) and not Path(begun.tools.removeprefix(_LIVE)).exists():
        target = msgspec.json.encode(begun.tools.removeprefix(_LIVE)).decode()
        lines += ["", "[[upstreams]]", 'name = "tools"', f"target = {target}"]
        lines += ['allow = []   # patterns of tools that may be called, such as "read_*"']
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return file


def example_request(catalog: Catalog) -> str:
    """A request that an API of this catalog serves, in its description's own words; empty without one."""
    described = (document for document in catalog.documents(most=200) if document.description.strip())
    document: ApiDocument | None = next(described, None)
    return "" if document is None else document.description.strip().splitlines()[0].partition(". ")[0][:80]
