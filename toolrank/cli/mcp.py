"""`toolrank mcp`: the catalog as an MCP server, for agents."""

from __future__ import annotations

import logging
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from toolrank.catalog import Catalog
from toolrank.cli.console import ERR
from toolrank.cli.options import CatalogOption, ProfileOption, TenantOption
from toolrank_ingest.errors import MissingExtra


def mcp(
    catalog: CatalogOption = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="TOML file of callers and upstream servers.")
    ] = None,
    profile: ProfileOption = None,
    tenant: TenantOption = "",
    principal: Annotated[
        list[str] | None,
        typer.Option("--principal", help="Whose permissions a caller without a token has. Repeatable."),
    ] = None,
    http: Annotated[
        bool, typer.Option("--http", help="Serve streamable HTTP instead of the standard streams.")
    ] = False,
    host: Annotated[str, typer.Option("--host", help="Address, with --http.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65_535, help="With --http; 0 takes a free one.")
    ] = 8_081,
) -> None:
    """Lets agents search the catalog over MCP, and call what they find where the configuration allows it."""
    if find_spec("mcp") is None:
        raise MissingExtra("mcp", "toolrank mcp")
    import anyio

    from toolrank.mcp.config import Caller, read_config
    from toolrank.mcp.server import Door

    # Standard output belongs to the protocol.
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("toolrank").setLevel(logging.INFO)
    read = read_config(config)
    local = Caller("local", tenant=tenant, principals=tuple(principal or ()), may_call=True)
    with Catalog.open(catalog) as opened:
        door = Door(opened, read, local, profile)
        if http:
            door.serve_http(host, port, lambda url: ERR.print(f"toolrank mcp serves {url}", soft_wrap=True))
        else:
            anyio.run(door.serve_stdio)
