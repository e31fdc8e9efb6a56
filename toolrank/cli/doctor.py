"""`toolrank doctor`: what is set, from where, and whether it works."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import msgspec
import typer
from rich.table import Table

from toolrank.catalog import Catalog
from toolrank.cli.console import print_json, print_table
from toolrank.cli.options import CatalogOption, JsonOption
from toolrank.errors import KNOWN, ExitCode
from toolrank.model_set import ModelSet
from toolrank.serving import read_settings
from toolrank.settings import Settings
from toolrank_engines.opening import without_secrets
from toolrank_engines.remote.engine import RemoteEngine
from toolrank_engines.remote.features import detect
from toolrank_rescorers.service.errors import InvalidSetting
from toolrank_rescorers.service.keys import parse_keys

_EXTRAS = {
    "cpu or gpu": "onnxruntime",
    "aws": "botocore",
    "mcp": "mcp",
    "opensearch": "opensearchpy",
    "elasticsearch": "elasticsearch",
    "serve": "uvicorn",
    "client": "httpx2",
    "traces": "opentelemetry",
    "eval": "ir_measures",
    "train": "torch",
    "langchain": "langchain_core",
    "llama-index": "llama_index",
    "haystack": "haystack",
    "openai-agents": "agents",
    "anthropic": "anthropic",
    "litellm": "litellm",
}


class Finding(msgspec.Struct, frozen=True):
    """One line of the report. `ok` is None for something that is only told."""

    topic: str
    name: str
    value: str
    ok: bool | None = None


def doctor(catalog: CatalogOption = None, as_json: JsonOption = False) -> None:
    """Reports settings with their origin, installed extras, models and the catalog."""
    settings = Settings()
    findings = [
        *_versions(),
        *_settings(settings),
        *_service(),
        *_models(settings),
        *_catalog(catalog, settings),
    ]
    if as_json:
        print_json(findings)
    else:
        table = Table("", "", "value", "")
        for finding in findings:
            table.add_row(finding.topic, finding.name, finding.value, _mark(finding.ok))
        print_table(table)
    if any(finding.ok is False for finding in findings):
        raise typer.Exit(ExitCode.UNAVAILABLE)


def _mark(ok: bool | None) -> str:
    return {True: "[green]ok", False: "[red]broken", None: ""}[ok]


def _versions() -> Iterator[Finding]:
    yield Finding("version", "toolrank", version("toolrank"))
    yield Finding("version", "python", sys.version.split()[0])
    for extra, module in _EXTRAS.items():
        yield Finding("extra", extra, "installed" if find_spec(module) else "absent")


def _settings(settings: Settings) -> Iterator[Finding]:
    for name, value in settings.model_dump(mode="json").items():
        variable = f"TOOLRANK_{name.upper()}"
        origin = "" if variable in os.environ else " (default)"
        shown = without_secrets(value) if name == "catalog" else value
        yield Finding("setting", variable, f"{shown}{origin}")


def _service() -> Iterator[Finding]:
    """What `toolrank serve` would run with here; a value of the key file is never shown, only its path."""
    try:
        explained = read_settings({})
    except InvalidSetting as error:
        yield Finding("service", "settings", str(error), ok=False)
        return
    for name, value in msgspec.structs.asdict(explained.settings).items():
        shown = f"{value} ({explained.origins.get(name, 'default')})"
        fault = _fault(name, value)
        yield Finding("service", name, f"{shown}: {fault}" if fault else shown, False if fault else None)


def _fault(name: str, value: object) -> str:
    """Why the file that a setting of the service names cannot be used; empty where it can."""
    if name not in {"keys", "tls_certificate", "tls_key"} or not value:
        return ""
    try:
        text = Path(str(value)).read_text("utf-8")
        if name == "keys":
            parse_keys(text, str(value))
    except (OSError, UnicodeDecodeError, InvalidSetting) as error:
        return str(error)
    return ""


def _models(settings: Settings) -> Iterator[Finding]:
    for role, identity in ModelSet(settings).identities().items():
        yield Finding("model", role, identity, not identity.startswith("unavailable"))


def _catalog(url: str | None, settings: Settings) -> Iterator[Finding]:
    name = without_secrets(url or settings.catalog)
    try:
        with Catalog.open(url, settings=settings) as opened:
            if isinstance(opened.engine, RemoteEngine):
                yield from _server(opened.engine)
            stats = opened.stats()
    except KNOWN as error:
        yield Finding("catalog", name, str(error), ok=False)
        return
    if stats is None:
        yield Finding("catalog", name, "empty: take something in with `toolrank ingest`")
        return
    size = f"{stats.documents:,} documents, {stats.bytes / 1e6:.1f} MB, {stats.schema.model}"
    yield Finding("catalog", name, size, ok=True)
    for source, count in stats.by_source.items():
        yield Finding("source", source, f"{count:,} documents")


def _server(engine: RemoteEngine) -> Iterator[Finding]:
    for name, value, ok in detect(engine.server).lines():
        yield Finding("cluster", name, value, ok)
