"""`kitpick init`: three questions, and the first search."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kitpick.beginning import Beginning, example_request, write_config
from kitpick.catalog import Catalog
from kitpick.cli.console import note
from kitpick.cli.mcp import print_client
from kitpick.cli.progress import progress
from kitpick.mcp.clients import McpClient, absolute_catalog, client_config
from kitpick_foundation.visible import one_line

NO_CLIENT = "none"
CLIENTS = (*(client.value for client in McpClient), NO_CLIENT)


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
    begun = Beginning(
        _answer("Where are your tools (a file, a folder, mcp:URL, botocore:s3)?", "--tools", tools, None),
        _client(
            _answer(f"What does your agent run in ({', '.join(CLIENTS)})?", "--client", client, NO_CLIENT)
        ),
        absolute_catalog(_answer("Where is the catalog stored?", "--store", store, "sqlite:tools.db")),
    )
    file = write_config(Path(), begun, force)
    with Catalog.open(begun.store) as catalog:
        report = catalog.ingest(begun.tools, progress=progress())
        request = example_request(catalog)
        found = catalog.search(request, 3).hits if request else ()
    typer.echo(
        f"{report.added + report.changed + report.unchanged:,} tools are in {begun.store}; wrote {file}."
    )
    if begun.client != NO_CLIENT:
        arguments = ["--catalog", begun.store, "--config", str(file.absolute())]
        print_client(client_config(McpClient(begun.client), arguments))
    if request:
        note(f"kitpick search {request!r} -c {begun.store}")
    for rank, hit in enumerate(found, 1):
        typer.echo(one_line(f"{rank}. {hit.document.tool}: {hit.document.api}"))


def _answer(question: str, option: str, given: str | None, default: str | None) -> str:
    if given is not None:
        return given
    if _can_ask():
        return str(typer.prompt(question, default=default, err=True))
    if default is None:
        raise typer.BadParameter("nobody can be asked here: say it", param_hint=option)
    return default


def _client(name: str) -> str:
    if name not in CLIENTS:
        raise typer.BadParameter(f"{name!r} is none of {', '.join(CLIENTS)}", param_hint="--client")
    return name


def _can_ask() -> bool:
    return sys.stdin.isatty()
