"""Tools registered with ml-commons, OpenSearch's plugin for agents, from a cluster or a saved answer.

A cluster lists those of its own MCP server, and from OpenSearch 3.8 on those that one of its MCP connectors
offers. Both are read as the user whom the catalog's settings name, as an engine in this cluster would be.
"""

from __future__ import annotations

import base64
import re
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException, HTTPResponse
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import msgspec

from kitpick_engines.document import ApiDocument, document_id
from kitpick_engines.errors import UnknownEngine
from kitpick_engines.remote.address import Address, parse_address
from kitpick_foundation.bounded import MoreThanBound, read_bounded
from kitpick_foundation.decoding import UNDECODABLE, decode_as
from kitpick_ingest.chains import with_chains
from kitpick_ingest.entries import BadEntry, Converted, PathSource, as_text, documents
from kitpick_ingest.errors import SourceError, UnknownSource
from kitpick_ingest.json_files import Entry, os_reason, parse, read_file, within
from kitpick_ingest.json_schema import parameters
from kitpick_ingest.json_values import as_object
from kitpick_ingest.source import DeadLetter
from kitpick_ingest.sources.mcp_endpoint import LiveSettings

CATEGORY = "ml-commons"
_TOOLS = "/_plugins/_ml/mcp/tools/_list"
_CONNECTOR_TOOLS = "/_plugins/_ml/connectors/{}/tools"
_MOST_LISTED = 1_000
"""ml-commons lists no more tools, and does not say whether there are more."""
_CHUNK = 1024 * 1024
_MOST_SAID = 64 * 1024
_SHOWN = 300
_CONNECTOR = re.compile(r"[A-Za-z0-9_-]{1,100}")
_FORM = "write ml-commons:opensearch[+https]://HOST[:PORT], with /connectors/ID for those of an MCP connector"
_CREDENTIALS = (
    "set KITPICK_ENGINE_USER and KITPICK_ENGINE_PASSWORD; the user needs "
    "cluster:admin/opensearch/ml/mcp_tools/list, or …/ml/connectors/tools for those of a connector"
)
_SWITCHED_OFF = 'PUT _cluster/settings {"persistent": {"plugins.ml_commons.mcp_server_enabled": true}}'
_ABSENT = "this needs the plugin opensearch-ml (ml-commons), of OpenSearch 3.1 or later; 3.8 for connectors"


class _ToolList(msgspec.Struct):
    tools: list[msgspec.Raw]


class _RegisteredTool(msgspec.Struct):
    """A tool as ml-commons lists it: its type says which code runs, its name what agents call it."""

    type: str
    name: str | None = None
    description: Any = None
    attributes: Any = None
    input_schema: Any = None
    """Inputs of a connector's tools; for others they stand in `attributes`."""


class MlCommonsFile(PathSource):
    """The tools of a saved answer."""

    def read(self) -> Iterator[Converted]:
        """Documents in the order of the answer."""
        yield from _listed(self.name, str(self.path), read_file(self.path))


@dataclass
class MlCommonsSource:
    """The tools that a cluster lists."""

    place: ClusterTools
    name: str
    live: LiveSettings

    def read(self) -> Iterator[Converted]:
        """Documents in the order of the list."""
        yield from _listed(self.name, self.place.url, self._fetched())

    def _fetched(self) -> bytes:
        where = self.place.url
        most, until = self.live.max_answer_bytes, time.monotonic() + self.live.total_seconds
        try:
            with self.place.opened(self.live.request_seconds) as answer:
                return read_bounded(lambda: answer.read1(_CHUNK), most, until)
        except MoreThanBound:
            raise SourceError(where, f"the answer is larger than {most:,} bytes") from None
        except HTTPError as error:
            with error:
                said = _reason(error.read(_MOST_SAID))
            raise SourceError(where, f"HTTP {error.code}: {said}", _cure(error.code, said)) from None
        except (OSError, HTTPException, ValueError) as error:
            raise SourceError(where, f"cannot be fetched: {os_reason(error)}") from error


class ClusterTools(NamedTuple):
    """A list of tools in a cluster."""

    address: Address
    path: str

    @classmethod
    def parse(cls, target: str) -> ClusterTools:
        """The list that a target names, as an engine's URL would name the cluster.

        Raises:
            UnknownSource: it names none.
        """
        place, mark, options = target.partition("?")
        cluster, _, connector = place.partition("/connectors/")
        if connector and not _CONNECTOR.fullmatch(connector):
            raise UnknownSource("ml-commons", "the id of a connector is letters, digits, - and _", _FORM)
        try:
            address = parse_address(cluster + mark + options)
        except UnknownEngine as error:
            raise UnknownSource("ml-commons", str(error), _FORM) from error
        if address.kind != "opensearch" or address.settings.auth != "basic":
            what = "ml-commons is a plugin of OpenSearch, and is asked with user and password"
            raise UnknownSource("ml-commons", what, f"{_FORM}; or save the answer, and name the file")
        return cls(address, _CONNECTOR_TOOLS.format(connector) if connector else _TOOLS)

    @property
    def url(self) -> str:
        """Of the list, without secrets."""
        return self.address.nodes[0] + self.path

    def opened(self, seconds: float) -> HTTPResponse:
        """The answer, whose body is not read yet.

        Raises:
            OSError, HTTPException: there is none, or one above 299 (`HTTPError`).
        """
        request = Request(self.url)  # noqa: S310 - http or https
        credentials = self.address.credentials
        if credentials.user:
            pair = f"{credentials.user}:{credentials.password}".encode()
            request.add_unredirected_header("Authorization", f"Basic {base64.b64encode(pair).decode()}")
        answer: HTTPResponse = urlopen(request, timeout=seconds, context=self._trust())  # noqa: S310
        return answer

    def _trust(self) -> ssl.SSLContext | None:
        if not self.address.tls:
            return None
        context = ssl.create_default_context(cafile=self.address.settings.ca or None)
        if not self.address.settings.verify:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context


def _reason(body: bytes) -> str:
    """What OpenSearch says went wrong, on one line."""
    try:
        error = as_object(decode_as(body, dict[str, Any])).get("error")
    except UNDECODABLE:
        return "no answer of OpenSearch"
    said = error if isinstance(error, str) else as_text(as_object(error).get("reason"))
    return " ".join(said.split())[:_SHOWN] or "no reason given"


def _cure(status: int, said: str) -> str:
    if "mcp_server_enabled" in said:
        return _SWITCHED_OFF
    if status in (401, 403):
        return _CREDENTIALS
    return _ABSENT if status in (400, 404, 405) else ""


def _listed(source: str, where: str, answer: bytes) -> Iterator[Converted]:
    tools = parse(answer, where, _ToolList).tools
    entries = (Entry(within(where, "tools", place), bytes(raw)) for place, raw in enumerate(tools))
    yield from documents(source, entries, partial(_document, source=source))
    if len(tools) >= _MOST_LISTED:
        what = f"ml-commons lists {_MOST_LISTED:,} tools at most: others may be registered beside these"
        yield DeadLetter(source, within(where, "tools", len(tools)), what)


def _document(entry: Entry, source: str) -> ApiDocument:
    tool = decode_as(entry.raw, _RegisteredTool)
    name = tool.name or tool.type
    document = ApiDocument(
        id=document_id(source, tool.type, name),
        source=source,
        category=CATEGORY,
        tool=tool.type,
        api=name,
        description=as_text(tool.description),
        parameters=parameters(_schema(tool)),
        definition=entry.raw.decode(),
    )
    return with_chains(document)


def _schema(tool: _RegisteredTool) -> object:
    """Of its inputs: an object, or one written as text; None where the list leaves it to the tool's type."""
    schema = tool.input_schema or as_object(tool.attributes).get("input_schema")
    if not isinstance(schema, str) or not schema.strip():
        return schema
    try:
        return msgspec.json.decode(schema)
    except UNDECODABLE as error:
        raise BadEntry(f"its input_schema is no JSON: {error}") from error
