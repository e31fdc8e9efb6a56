"""RapidAPI endpoints in ToolBench's forms: one endpoint a record, or one tool a file with an `api_list`.

Source: Qin et al., "ToolLLM" (ICLR 2024); its release holds `data/toolenv/tools/CATEGORY/TOOL.json`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from kitpick_engines.document import ApiDocument, Parameter, document_id
from kitpick_foundation.decoding import decode_as
from kitpick_ingest.chains import with_chains
from kitpick_ingest.effects import effect_of_method
from kitpick_ingest.entries import Converted, FilesSource, as_text, convert_entry, read_records
from kitpick_ingest.found_files import FoundFile
from kitpick_ingest.json_files import Entry, within
from kitpick_ingest.prose import MAX_RETURNS


class _ParameterRecord(msgspec.Struct):
    name: str
    type: Any = ""
    description: Any = ""


class _Endpoint(msgspec.Struct, kw_only=True):
    required_parameters: list[_ParameterRecord] | None = None
    optional_parameters: list[_ParameterRecord] | None = None
    method: str | None = None
    schema: Any = None


class _EndpointRecord(_Endpoint):
    """An endpoint that names its tool and category itself."""

    tool_name: str
    name: str = msgspec.field(name="api_name")
    category_name: str = ""
    description: Any = msgspec.field(default="", name="api_description")


class _ListedEndpoint(_Endpoint):
    """An endpoint in the `api_list` of its tool."""

    name: str
    description: Any = ""


class _ToolFile(msgspec.Struct):
    """A per-tool file; an endpoint record decodes to one without an `api_list`."""

    api_list: list[msgspec.Raw] | None = None
    tool_name: str | None = None
    name: str | None = None
    category_name: str | None = None
    tool_description: Any = ""


class ToolBenchSource(FilesSource):
    """Endpoints of a JSON or JSON Lines file, or of a folder of per-tool JSON files.

    Tool names repeat across categories, so an id is `name/category/tool/api`. A per-tool file does not name
    its category: it is the folder that the file lies in, unless the file says `category_name`.
    """

    usual_name = "toolbench"

    def _read_file(self, file: FoundFile) -> Iterator[Converted]:
        folder = file.path.resolve().parent.name
        yield from read_records(self.name, file.path, _ToolFile, partial(self._read_record, folder=folder))

    def _read_record(self, record: Entry, tool: _ToolFile, folder: str) -> Iterator[Converted]:
        if tool.api_list is None:
            yield convert_entry(self.name, record, self._endpoint)
            return
        tool.category_name = tool.category_name or folder
        for index, raw in enumerate(tool.api_list):
            entry = Entry(within(record.position, "api_list", index), bytes(raw))
            yield convert_entry(self.name, entry, partial(self._listed, tool=tool))

    def _endpoint(self, entry: Entry) -> ApiDocument:
        endpoint = decode_as(entry.raw, _EndpointRecord)
        return self._document(entry, endpoint, endpoint.category_name, endpoint.tool_name)

    def _listed(self, entry: Entry, tool: _ToolFile) -> ApiDocument:
        endpoint = decode_as(entry.raw, _ListedEndpoint)
        endpoint.description = endpoint.description or tool.tool_description
        return self._document(entry, endpoint, tool.category_name or "", tool.tool_name or tool.name or "")

    def _document(
        self, entry: Entry, endpoint: _EndpointRecord | _ListedEndpoint, category: str, tool: str
    ) -> ApiDocument:
        document = ApiDocument(
            id=document_id(self.name, category, tool, endpoint.name),
            source=self.name,
            category=category,
            tool=tool,
            api=endpoint.name,
            description=as_text(endpoint.description),
            parameters=_parameters(endpoint),
            returns=as_text(endpoint.schema)[:MAX_RETURNS] if endpoint.schema else "",
            effect=effect_of_method(endpoint.method),
            definition=entry.raw.decode(),
        )
        return with_chains(document)


def _parameters(endpoint: _Endpoint) -> tuple[Parameter, ...]:
    return tuple(
        Parameter(p.name, as_text(p.type), required, as_text(p.description))
        for required, group in ((True, endpoint.required_parameters), (False, endpoint.optional_parameters))
        for p in group or ()
    )
