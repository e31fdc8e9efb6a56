"""`kitpick serve`: the rescorer as an HTTP service, and API keys for it."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from kitpick.cli.console import ERR, note
from kitpick.cli.options import CatalogOption, PrincipalOption, TenantOption, filter_of
from kitpick.settings import read_service_settings
from kitpick_engines.contract import Filter
from kitpick_foundation.errors import InvalidSetting, MissingExtra
from kitpick_service.keys import digest, new_key

if TYPE_CHECKING:
    from kitpick_service.app import Addition
    from kitpick_service.core import Service


class _Shown(NamedTuple):
    """The catalog behind the page and the tools, and what belongs to it."""

    catalog: str | None
    marks: Path | None
    adapted: Path | None
    permitted: Filter


def serve(
    host: Annotated[
        str | None, typer.Option("--host", help="Address to listen on. Default: 127.0.0.1.")
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", help="Port; 0 takes a free one. Default: 8080.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", help="Profile of requests that name none.")
    ] = None,
    keys: Annotated[Path | None, typer.Option("--keys", help="File of API keys; see --new-key.")] = None,
    tls_certificate: Annotated[
        Path | None, typer.Option("--tls-certificate", help="PEM file: serve HTTPS.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="PEM file of its private key.")] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="TOML file with settings. Default: KITPICK_SERVE_CONFIG.")
    ] = None,
    other: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any other setting. Repeatable.", metavar="NAME=VALUE"),
    ] = None,
    ui: Annotated[
        bool, typer.Option("--ui", help="Also serve the explain page, at /ui/, over a catalog.")
    ] = False,
    tools: Annotated[
        bool,
        typer.Option("--tools", help="Also find tools of a catalog and take feedback, at /v1/tools."),
    ] = False,
    catalog: CatalogOption = None,
    marks: Annotated[
        Path | None,
        typer.Option("--marks", help="File for the judgements made on the page, for kitpick eval --queries."),
    ] = None,
    adapted: Annotated[
        Path | None,
        typer.Option("--adapted", help="File for a profile that operators adapt by a button of the page."),
    ] = None,
    tenant: TenantOption = "",
    principal: PrincipalOption = None,
    named_key: Annotated[
        str | None, typer.Option("--new-key", help="Print a new API key with this name and exit.")
    ] = None,
) -> None:
    """Serves the rescorer over HTTP, with --ui the explain page, with --tools a catalog.

    A catalog is searched as --tenant and --principal. With --keys, the caller's key decides instead.
    """
    if named_key is not None:
        _print_key(named_key)
        return
    own: dict[str, Any] = {"host": host, "port": port, "profile": profile}
    own |= {"keys": _text(keys), "tls_certificate": _text(tls_certificate), "tls_key": _text(tls_key)}
    # An option that was not given must not take away what --set says: a service without its keys is open.
    flags = _pairs(other or ()) | {name: value for name, value in own.items() if value is not None}
    shown = _Shown(catalog, marks, adapted, filter_of(tenant, principal))
    _require_shown(shown, page=ui, tools=tools)
    _run(flags, config, shown, page=ui, tools=tools)


def _require_shown(shown: _Shown, *, page: bool, tools: bool) -> None:
    """Refuses options that would mean nothing: what is shown, and nothing that shows it."""
    if not page and (shown.marks or shown.adapted):
        raise InvalidSetting("--marks and --adapted are files of the explain page: add --ui")
    if not (page or tools) and (shown.catalog or shown.permitted != Filter()):
        raise InvalidSetting("--catalog, --tenant and --principal say what is shown: add --ui or --tools")


def _run(flags: dict[str, Any], config: Path | None, shown: _Shown, *, page: bool, tools: bool) -> None:
    settings = read_service_settings(flags, config).settings
    if any(find_spec(module) is None for module in ("uvicorn", "starlette", "prometheus_client")):
        raise MissingExtra("serve", "the service")
    from kitpick_service.core import Service
    from kitpick_service.logs import configure
    from kitpick_service.server import serve as run
    from kitpick_service.server import steady_memory

    steady_memory()
    configure(settings.log_level)
    service = Service(settings)
    roles = ", ".join(f"{role} {info.identity}" for role, info in service.models.info().items())

    def started(url: str) -> None:
        # A log that takes no more, on a full disk, is no reason not to serve.
        with suppress(OSError):
            ERR.print(f"kitpick serves {url} on {settings.provider} with {roles}", soft_wrap=True)
            if page:
                ERR.print(f"the explain page is at {url}/ui/", soft_wrap=True)
            if tools:
                ERR.print(f"tools are found at {url}/v1/tools/search", soft_wrap=True)

    with ExitStack() as stack:
        additions: list[Addition] = []
        if page:
            additions.append(_page(service, shown, stack))
        if tools:
            additions.append(_tools(service, shown, stack))
        run(service, started, _together(additions) if additions else None)


def _page(service: Service, shown: _Shown, stack: ExitStack) -> Addition:
    from kitpick.ui.desk import Desk, UiSettings
    from kitpick.ui.routes import page_routes

    desk = Desk(service, UiSettings(**shown._asdict()))
    return partial(page_routes, stack.enter_context(closing(desk)))


def _tools(service: Service, shown: _Shown, stack: ExitStack) -> Addition:
    from kitpick.tools_api import ToolsApi, tools_routes

    api = stack.enter_context(closing(ToolsApi(service, shown.catalog, shown.permitted)))
    return partial(tools_routes, api)


def _together(additions: list[Addition]) -> Addition:
    return lambda service, threads: [route for one in additions for route in one(service, threads)]


def _print_key(name: str) -> None:
    key = new_key()
    note("this key is not shown again; add the entry to the file of --keys")
    typer.echo(
        f"key: {key}\n\n[[keys]]\nname = {json.dumps(name, ensure_ascii=False)}\nsha256 = '{digest(key)}'"
    )
    typer.echo("# operator = true  # of somebody who runs the service: may adapt its profile from the page")
    typer.echo("# speaks_for_others = true  # of a search server, whose searches say for whom they are")


def _pairs(given: list[str] | tuple[()]) -> dict[str, Any]:
    pairs = [item.partition("=") for item in given]
    if any(not separator for _, separator, _ in pairs):
        raise InvalidSetting("--set takes NAME=VALUE")
    return {name: value for name, _, value in pairs}


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
