"""Function declarations for language models, in every form of `function_forms`, also mixed in one file."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from kitpick_engines.document import ApiDocument, document_id
from kitpick_foundation.decoding import decode_as
from kitpick_ingest.chains import with_chains
from kitpick_ingest.declared import declared as dependencies
from kitpick_ingest.effects import effect_of_function_name
from kitpick_ingest.entries import (
    BadEntry,
    Converted,
    FilesSource,
    as_text,
    convert_entry,
    dead_letter,
    read_decoded,
    read_records,
)
from kitpick_ingest.found_files import FoundFile
from kitpick_ingest.function_forms import schema_of
from kitpick_ingest.json_files import Entry, within
from kitpick_ingest.json_schema import parameters, schema_fields
from kitpick_ingest.prose import MAX_RETURNS

_MAX_NESTING = 4
"""A file, its tools, a namespace, its functions: nothing nests deeper."""


class Function(msgspec.Struct):
    """A function in any of the forms; the schema of its inputs has another key in each."""

    name: str | None = None
    type: str | None = None
    description: Any = ""
    function: Function | None = None
    tool_spec: Function | None = msgspec.field(default=None, name="toolSpec")
    parameters: Any = None
    input_schema: Any = None
    camel_schema: Any = msgspec.field(default=None, name="inputSchema")
    parameters_json_schema: Any = msgspec.field(default=None, name="parametersJsonSchema")
    parameter_definitions: Any = None
    response: Any = None
    depends_on: Any = None
    """Calls that must come before, see `kitpick_ingest.declared`."""

    @property
    def schema(self) -> object:
        """JSON Schema of the inputs, None where the function takes none."""
        given = {
            "inputSchema": self.camel_schema,
            "input_schema": self.input_schema,
            "parametersJsonSchema": self.parameters_json_schema,
            "parameters": self.parameters,
            "parameter_definitions": self.parameter_definitions,
        }
        return schema_of({key: value for key, value in given.items() if value})


class _Group(msgspec.Struct):
    """A container of functions: a request body, a Gemini tool, or a namespace of OpenAI's Responses API."""

    name: str | None = None
    tools: list[msgspec.Raw] | None = None
    functions: list[msgspec.Raw] | None = None
    camel: list[msgspec.Raw] | None = msgspec.field(default=None, name="functionDeclarations")
    snake: list[msgspec.Raw] | None = msgspec.field(default=None, name="function_declarations")
    bedrock: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="toolConfig")

    def members(self) -> tuple[str, list[msgspec.Raw]] | None:
        """Key and members of the first list there is, None for a single function."""
        lists = {
            "tools": self.tools,
            "functions": self.functions,
            "functionDeclarations": self.camel,
            "function_declarations": self.snake,
            "toolConfig": [self.bedrock] if bytes(self.bedrock) else None,
        }
        return next(((key, found) for key, found in lists.items() if found is not None), None)


class FunctionSchemasSource(FilesSource):
    """Functions of a JSON array, of an object with `tools`, or of JSON Lines; a folder of such files as well.

    A function belongs to the tool that its namespace names: an OpenAI `namespace`, or the part of its name
    before the last dot. Without either, the tool is the source.
    """

    usual_name = "functions"

    def _read_file(self, file: FoundFile) -> Iterator[Converted]:
        yield from read_records(self.name, file.path, _Group, partial(_read_group, self.name))


def read_function(source: str, entry: Entry) -> Iterator[Converted]:
    """The function of an entry, or those of the lists in it; a dead letter for each that is none."""
    return read_decoded(source, entry, _Group, partial(_read_group, source))


def _read_group(
    source: str, entry: Entry, group: _Group, namespace: str = "", depth: int = _MAX_NESTING
) -> Iterator[Converted]:
    if (found := group.members()) is None:
        yield convert_entry(source, entry, partial(_document, source=source, namespace=namespace))
        return
    if depth == 0:
        yield dead_letter(source, entry, "lists of functions are nested too deeply")
        return
    key, members = found
    read = partial(_read_group, source, namespace=group.name or namespace, depth=depth - 1)
    for index, raw in enumerate(members):
        yield from read_decoded(source, Entry(within(entry.position, key, index), bytes(raw)), _Group, read)


def _document(entry: Entry, source: str, namespace: str) -> ApiDocument:
    declared = decode_as(entry.raw, Function)
    function = declared.function or declared.tool_spec or declared
    if function.schema is None and declared.type not in {None, "function", "custom"}:
        raise BadEntry(f"a hosted tool of type {declared.type!r}, not a function")
    if not function.name:
        raise BadEntry("a function without a name")
    tool = namespace or function.name.rpartition(".")[0] or source
    document = ApiDocument(
        id=document_id(source, tool, function.name),
        source=source,
        category="",
        tool=tool,
        api=function.name,
        description=as_text(function.description),
        parameters=parameters(function.schema),
        returns=as_text(function.response)[:MAX_RETURNS],
        definition=entry.raw.decode(),
        effect=effect_of_function_name(function.name),
    )
    described = isinstance(function.response, dict)
    answer = schema_fields(function.response) if described else None
    before = declared.depends_on if function.depends_on is None else function.depends_on
    return with_chains(document, answer, declared=dependencies(before))
