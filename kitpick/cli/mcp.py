"""`kitpick mcp`: the catalog as an MCP server for agents."""

from __future__ import annotations

import logging
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from kitpick.catalog import Catalog
from kitpick.cli.catalogs import absence_of
from kitpick.cli.console import ERR, note
from kitpick.cli.options import CatalogOption, ProfileOption, TenantOption
from kitpick_foundation.errors import MissingExtra


def mcp(
    catalog: CatalogOption = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="TOML file with callers and upstream servers.")
    ] = None,
    profile: ProfileOption = None,
    tenant: TenantOption = "",
    principal: Annotated[
        list[str] | None,
        typer.Option(
            "--principal", help="User or group that a caller without a token searches as. Repeatable."
        ),
    ] = None,
    http: Annotated[
        bool, typer.Option("--http", help="Serve over streamable HTTP instead of standard input and output.")
    ] = False,
    host: Annotated[str, typer.Option("--host", help="Address to listen on, with --http.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65_535, help="Port, with --http; 0 takes a free one.")
    ] = 8_081,
) -> None:
    """Serves the catalog to agents as an MCP server.

    Agents search the catalog, and call the tools that they find where the configuration allows it.
    """
    if find_spec("mcp") is None:
        raise MissingExtra("mcp", "kitpick mcp")
    import anyio

    from kitpick.mcp.config import Caller, read_config
    from kitpick.mcp.server import CatalogServer

    # Standard output belongs to the protocol.
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("kitpick").setLevel(logging.INFO)
    read = read_config(config)
    local = Caller("local", tenant=tenant, principals=tuple(principal or ()), may_call=True)
    with Catalog.open(catalog) as opened:
        if (absent := absence_of(opened)) is not None:
            note(str(absent))
        server = CatalogServer(opened, read, local, profile)
        if http:
            server.serve_http(host, port, lambda url: ERR.print(f"kitpick mcp serves {url}", soft_wrap=True))
        else:
            anyio.run(server.serve_stdio)
