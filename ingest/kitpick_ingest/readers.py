"""The kinds of sources: how each is written, recognised and opened."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Literal, NamedTuple

from kitpick_ingest.errors import UnknownSource
from kitpick_ingest.function_forms import is_registered
from kitpick_ingest.sample import Sample, is_there, user_path
from kitpick_ingest.source import Source
from kitpick_ingest.sources.mcp_endpoint import LiveSettings
from kitpick_ingest.urls import is_url

_OPENAPI_YAML = re.compile(r"^[\"']?(?:openapi|swagger)[\"']?[ \t]*:", re.MULTILINE)

_MAX_TAG = 10
"""Bytes before the name of the first file in a descriptor set: a key and a length."""


class Target(NamedTuple):
    """The part of a specification after the kind, the name of the source, and limits."""

    text: str
    name: str
    live: LiveSettings = LiveSettings()

    @property
    def path(self) -> Path:
        """The text as a path, `~` expanded.

        Raises:
            UnknownSource: there is no text.
        """
        if not self.text:
            raise UnknownSource("source", "no file or folder follows the kind", "write KIND:PATH")
        return user_path(self.text)


class SourceKind(NamedTuple):
    """One kind of source."""

    form: str
    """How a specification of this kind is written, for messages: `toolbench:FILE`."""
    open: Callable[[Target], Source]
    recognises: Callable[[Sample], bool] = lambda _: False
    """Whether a file or folder looks like this kind."""
    at_url: Literal["fetched", "opened", "refused"] = "fetched"
    """What becomes of a URL: it is fetched as a file, `open` reads it itself, or this kind has none."""


def _reader(module: str, name: str) -> Callable[[Target], Source]:
    """Opens a source of a module of `sources`, imported then: its extra is only needed where it is used."""

    def open_(target: Target) -> Source:
        source: Source = getattr(import_module(f"kitpick_ingest.sources.{module}"), name)(
            target.path, target.name
        )
        return source

    return open_


def _open_google(target: Target) -> Source:
    from kitpick_ingest.sources.google_discovery import GoogleDiscoverySource

    return GoogleDiscoverySource(target.path if target.text else None, target.name)


def _open_botocore(target: Target) -> Source:
    from kitpick_ingest.sources.botocore_models import BotocoreSource

    services = [service.strip() for service in target.text.split(",") if service.strip()]
    return BotocoreSource(services or None, target.name)


def _open_mcp(target: Target) -> Source:
    from kitpick_ingest.sources.mcp_dump import McpDumpSource
    from kitpick_ingest.sources.mcp_live import McpLiveSource

    if is_url(target.text) or target.text.startswith("stdio:"):
        return McpLiveSource(target.text, target.name, target.live)
    if " " in target.text and not is_there(target.path):
        cure = "write a command as mcp:stdio:COMMAND …, a server as mcp:https://HOST/PATH"
        raise UnknownSource(target.text, "no such file", cure)
    return McpDumpSource(target.path, target.name)


def _open_registry(target: Target) -> Source:
    from kitpick_ingest.fetching import RemoteFileSource
    from kitpick_ingest.sources.mcp_registry import McpRegistryPages, McpRegistrySource

    if is_url(target.text):
        return McpRegistryPages(
            target.text,
            target.name,
            lambda url, opened: RemoteFileSource(url, target.name, opened, target.live),
        )
    return McpRegistrySource(target.path, target.name)


def _open_ml_commons(target: Target) -> Source:
    from kitpick_ingest.sources.ml_commons import ClusterTools, MlCommonsFile, MlCommonsSource

    if "://" in target.text:
        return MlCommonsSource(ClusterTools.parse(target.text), target.name, target.live)
    return MlCommonsFile(target.path, target.name)


def _has(*keys: str) -> Callable[[Sample], bool]:
    """Whether the first record has all these keys."""
    return lambda sample: sample.has(*keys)


def _is_openapi(sample: Sample) -> bool:
    return sample.has("openapi") or sample.has("swagger") or _OPENAPI_YAML.search(sample.head) is not None


def _is_google(sample: Sample) -> bool:
    return str(sample.record.get("kind", "")).startswith("discovery#")


def _is_toolbench(sample: Sample) -> bool:
    return sample.has("tool_name", "api_name") or sample.has("api_list")


def _is_mcp(sample: Sample) -> bool:
    listing = sample.inner("result") or sample
    return (
        listing.has("inputSchema")
        or isinstance(listing.record.get("tools"), dict)
        or "inputSchema" in listing.member("tools")
    )


def _is_registry(sample: Sample) -> bool:
    first = sample.member("servers") or sample.record
    server = first.get("server", first)
    return isinstance(server, dict) and "name" in server and bool({"packages", "remotes"} & server.keys())


def _is_graphql(sample: Sample) -> bool:
    return (sample.inner("data") or sample).has("__schema")


def _is_grpc(sample: Sample) -> bool:
    """Whether the first field is an object whose first field is the name of a `.proto` file."""
    head = sample.head
    for place in (place for place in range(2, _MAX_TAG) if head[:1] == head[place : place + 1] == "\n"):
        length = ord(head[place + 1 : place + 2] or "\0")
        name = head[place + 2 : place + 2 + length]
        if len(name) == length and name.endswith(".proto"):
            return True
    return False


def _is_ml_commons(sample: Sample) -> bool:
    return is_registered(sample.member("tools"))


def _is_functions(sample: Sample) -> bool:
    first = sample.member("tools") or sample.member("functions") or sample.record
    return (
        "input_schema" in first
        or "functionDeclarations" in first
        or "function_declarations" in first
        or first.get("type") in {"function", "namespace"}
        or {"name", "parameters"} <= first.keys()
        or {"name", "parameter_definitions"} <= first.keys()
        or "toolSpec" in first
        or sample.has("toolConfig")
    )


READERS: dict[str, SourceKind] = {
    "openapi": SourceKind("openapi:FILE", _reader("openapi", "OpenApiSource"), _is_openapi),
    "google": SourceKind("google:DIR", _open_google, _is_google),
    "botocore": SourceKind("botocore:s3,ec2", _open_botocore),
    "documents": SourceKind(
        "documents:FILE",
        _reader("documents_jsonl", "DocumentsSource"),
        _has("id", "source", "category", "tool", "api"),
    ),
    "toolbench": SourceKind("toolbench:FILE", _reader("toolbench", "ToolBenchSource"), _is_toolbench),
    "beir": SourceKind("beir:DIR", _reader("beir", "BeirSource"), _has("_id", "text")),
    "mcp": SourceKind("mcp:URL, mcp:stdio:COMMAND … or mcp:FILE", _open_mcp, _is_mcp, "opened"),
    "functions": SourceKind(
        "functions:FILE", _reader("function_schemas", "FunctionSchemasSource"), _is_functions
    ),
    "graphql": SourceKind("graphql:FILE", _reader("graphql", "GraphqlSource"), _is_graphql),
    "grpc": SourceKind("grpc:FILE", _reader("grpc", "GrpcSource"), _is_grpc),
    "registry": SourceKind("registry:FILE or registry:URL", _open_registry, _is_registry, "opened"),
    "a2a": SourceKind(
        "a2a:FILE", _reader("agent_cards", "AgentCardsSource"), _has("name", "skills", "capabilities")
    ),
    "ml-commons": SourceKind(
        "ml-commons:opensearch[+https]://HOST or ml-commons:FILE", _open_ml_commons, _is_ml_commons, "opened"
    ),
    "skills": SourceKind("skills:DIR", _reader("skills", "SkillsSource"), at_url="refused"),
}
"""Kind → reader. A bare path is given to the first reader that recognises it."""
