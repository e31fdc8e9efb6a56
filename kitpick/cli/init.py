"""`kitpick init`: three questions, and the first search."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from kitpick.catalog import Catalog
from kitpick.cli.console import note
from kitpick.cli.mcp import print_client
from kitpick.cli.progress import progress
from kitpick.mcp.clients import McpClient, absolute_catalog, client_config
from kitpick_engines.document import ApiDocument
from kitpick_engines.opening import without_secrets
from kitpick_foundation.errors import KitpickError
from kitpick_foundation.visible import one_line
from kitpick_ingest.source_names import default_name
from kitpick_ingest.urls import is_url

NO_CLIENT = "none"
FILE = "kitpick.toml"
_LIVE = "mcp:"
_MAX_NAME = 100
"""Characters of an upstream's name."""
CLIENTS = (*(client.value for client in McpClient), NO_CLIENT)


class AlreadyBegun(KitpickError):
    """A configuration that would be overwritten."""

    def __init__(self, file: Path) -> None:
        super().__init__(f"{file}: is there already: take another folder, or --force to write it anew")


class Unwritable(KitpickError):
    """A configuration that cannot be written."""

    def __init__(self, file: Path, error: OSError) -> None:
        super().__init__(f"{file.absolute()}: cannot be written: {error.strerror}")


class Beginning(msgspec.Struct, frozen=True):
    """The answers to three questions."""

    tools: str
    """A source, as `kitpick ingest` takes it."""
    client: str
    """Name of a client, or "none"."""
    store: str
    """URL of the catalog."""

    @property
    def upstream(self) -> str:
        """The name of the live MCP server that the tools are of; empty where they are of none."""
        target = self.tools.removeprefix(_LIVE)
        is_live = self.tools.startswith(_LIVE) and (is_url(target) or target.startswith("stdio:"))
        return default_name("mcp", target)[:_MAX_NAME] if is_live else ""

    @property
    def shown_store(self) -> str:
        """The URL of the catalog without what is secret in it."""
        return without_secrets(self.store)


def init(
    tools: Annotated[
        str | None, typer.Option("--tools", help="Where your tools are: a path, or KIND:TARGET.")
    ] = None,
    client: Annotated[
        str | None, typer.Option("--client", help=f"What your agent runs in: {', '.join(CLIENTS)}.")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", help="URL of the catalog: sqlite:PATH, opensearch://HOST/NAME, and others."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write kitpick.toml anew if it is there.")] = False,
) -> None:
    """Asks where your tools are, who uses them and where to store them, and begins.

    Takes the tools in, prints the entry for the agent's configuration, and searches once. Each question has
    an option. Where nobody can be asked, `--tools` is needed and the others have defaults.
    """
    _require_new(Path(FILE), force)
    begun = Beginning(
        _answer("Where are your tools (a file, a folder, mcp:URL, botocore:s3)?", "--tools", tools, None),
        _client(client),
        absolute_catalog(_answer("Where is the catalog stored?", "--store", store, "sqlite:tools.db")),
    )
    with Catalog.open(begun.store) as catalog:
        report = catalog.ingest(begun.tools, name=begun.upstream or None, progress=progress())
        file = write_config(Path(), begun, force)  # not before: what failed is begun anew with other answers
        request = example_request(catalog)
        found = catalog.search(request, 3).hits if request else ()
    count = report.added + report.changed + report.unchanged
    typer.echo(f"{count:,} tools are in {begun.shown_store}; wrote {file}.")
    if begun.client != NO_CLIENT:
        print_client(client_config(McpClient(begun.client), ["--config", str(file.absolute())]))
    if request:
        note(f"a first search: {shlex.join(['kitpick', 'search', request, '-c', begun.shown_store])}")
    for rank, hit in enumerate(found, 1):
        typer.echo(one_line(f"{rank}. {hit.document.tool}: {hit.document.api}"))


def _answer(question: str, option: str, given: str | None, default: str | None) -> str:
    if given is not None:
        return given
    if _can_ask():
        return str(typer.prompt(question, default=default, prompt_suffix=" ", err=True))
    if default is None:
        raise typer.BadParameter("nobody can be asked here: say it", param_hint=option)
    return default


def _client(given: str | None) -> str:
    """A client's name; after any other word the question is asked again."""
    question = f"What does your agent run in ({', '.join(CLIENTS)})?"
    while (name := _answer(question, "--client", given, NO_CLIENT)) not in CLIENTS:
        wrong = f"{name!r} is none of {', '.join(CLIENTS)}"
        if given is not None:
            raise typer.BadParameter(wrong, param_hint="--client")
        note(wrong)
    return name


def _can_ask() -> bool:
    return sys.stdin.isatty()


def _require_new(file: Path, force: bool) -> None:
    if file.exists() and not force:
        raise AlreadyBegun(file)


def write_config(folder: Path, begun: Beginning, force: bool = False) -> Path:
    """Writes `kitpick.toml`, which names the catalog to `kitpick mcp --config`.

    A live MCP server becomes an upstream of which nothing may be called yet.

    Raises:
        AlreadyBegun: the file is there, and `force` is false.
        Unwritable: the folder, or what has the file's name, takes no text.
    """
    file = folder / FILE
    _require_new(file, force)
    again = ["kitpick", "ingest", begun.tools, "-c", begun.shown_store]
    lines = [
        "# Made by `kitpick init`, for `kitpick mcp --config kitpick.toml`: docs/mcp.md names every field.",
        f"# Takes changes of the tools in: {one_line(shlex.join(again))}",
        f"catalog = {_quoted(begun.store)}",
    ]
    if begun.upstream:
        target = _quoted(begun.tools.removeprefix(_LIVE))
        lines += ["", "[[upstreams]]", f"name = {_quoted(begun.upstream)}", f"target = {target}"]
        lines += ['allow = []   # patterns of tools that may be called, such as "read_*"']
    try:
        file.write_text("\n".join(lines) + "\n", "utf-8")
    except OSError as error:
        raise Unwritable(file, error) from error
    return file


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def example_request(catalog: Catalog) -> str:
    """A request that an API of this catalog serves, in its description's own words; empty without one."""
    described = (document for document in catalog.documents(most=200) if document.description.strip())
    document: ApiDocument | None = next(described, None)
    return "" if document is None else document.description.strip().splitlines()[0].partition(". ")[0][:80]
