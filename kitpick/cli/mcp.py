"""`kitpick mcp`: the catalog as an MCP server for agents."""

from __future__ import annotations

import json
import logging
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from kitpick.catalog import Catalog
from kitpick.cli.catalogs import absence_of
from kitpick.cli.console import ERR, OneLine, note
from kitpick.cli.options import CatalogOption, ProfileOption, TenantOption
from kitpick.mcp.clients import ClientConfig, McpClient, absolute_catalog, client_config
from kitpick.settings import Settings
from kitpick_engines.opening import without_secrets
from kitpick_foundation.errors import InvalidSetting, MissingExtra
from kitpick_foundation.installation import is_temporary, requirement

_HOST, _PORT = "127.0.0.1", 8_081
"""Where the server listens over HTTP."""


def _require_sense(*, http: bool, addressed: bool, started: bool) -> None:
    """Refuses an address without HTTP, and HTTP for a client that starts the server itself."""
    if addressed and not http:
        raise InvalidSetting("--host and --port say where the server listens over HTTP: add --http")
    if http and started:
        raise InvalidSetting("--config-for names a client that starts the server itself: leave --http out")


def print_client(config: ClientConfig) -> None:
    """The JSON on standard output, where it belongs and what comes next on standard error."""
    note(f"for {config.file}; {config.afterwards}")
    typer.echo(json.dumps(config.content, indent=2))
    if find_spec("mcp") is None:
        note(str(MissingExtra("mcp", "the server of this entry")))
    if is_temporary():
        lasting = requirement("cpu,mcp")
        note(
            "uvx or pipx run put this kitpick into a cache, which may be emptied, and the entry names it "
            f"there: print the entry again after `uv tool install {lasting}` or `pipx install {lasting}`"
        )


def _catalog_of(url: str | None, config: Path | None) -> list[str]:
    """The option that names the catalog, but where the configuration does."""
    from kitpick.mcp.config import read_config

    if url is None and read_config(config).catalog:
        return []
    return ["--catalog", absolute_catalog(url or Settings().catalog)]


def mcp(
    catalog: CatalogOption = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            help="TOML file with callers and upstream servers, or a client's JSON file with its servers.",
        ),
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
    host: Annotated[
        str | None, typer.Option("--host", help=f"Address to listen on, with --http. Default: {_HOST}.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=0,
            max=65_535,
            help=f"Port, with --http; 0 takes a free one. Default: {_PORT}.",
        ),
    ] = None,
    config_for: Annotated[
        McpClient | None,
        typer.Option(
            "--config-for", help="Print the configuration with which this client starts the server."
        ),
    ] = None,
) -> None:
    """Serves the catalog to agents as an MCP server.

    Agents search the catalog, and call the tools that they find where the configuration allows it.
    """
    _require_sense(http=http, addressed=host is not None or port is not None, started=config_for is not None)
    if config_for is not None:
        is_file = profile is not None and profile.endswith(".toml")
        chosen = str(Path(str(profile)).absolute()) if is_file else profile
        options = {"--config": config and str(config.absolute()), "--profile": chosen, "--tenant": tenant}
        given = [part for name, value in options.items() if value for part in (name, value)]
        given += [part for one in principal or () for part in ("--principal", one)]
        print_client(client_config(config_for, [*_catalog_of(catalog, config), *given]))
        return
    if find_spec("mcp") is None:
        raise MissingExtra("mcp", "kitpick mcp")
    import anyio

    from kitpick.mcp.config import Caller, read_config
    from kitpick.mcp.server import CatalogServer

    # Standard output belongs to the protocol.
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("kitpick").setLevel(logging.INFO)
    read = read_config(config)
    local = Caller("local", tenant=tenant, principals=tuple(principal or ()), may_call=True)
    with Catalog.open(catalog or read.catalog or None) as opened:
        shown = absolute_catalog(without_secrets(opened.engine.url))
        logging.getLogger("kitpick.mcp").info("catalog %s", shown)
        if (absent := absence_of(opened)) is not None:
            note(str(absent))
        server = CatalogServer(opened, read, local, profile)
        if http:
            server.serve_http(host or _HOST, _PORT if port is None else port, _tell)
        else:
            anyio.run(server.serve_stdio)


def _tell(url: str) -> None:
    ERR.print(f"kitpick mcp serves {url}", soft_wrap=True)
