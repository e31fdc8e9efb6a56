"""Tools that a program holds: declarations, functions, classes of arguments, tools of agent frameworks."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kitpick_engines.document import ApiDocument
from kitpick_ingest.entries import BadEntry, Converted, convert_entry
from kitpick_ingest.json_files import Entry
from kitpick_ingest.json_values import JsonObject
from kitpick_ingest.python_functions import declared_function, prose, schemas_of
from kitpick_ingest.source import DeadLetter
from kitpick_ingest.sources.function_schemas import read_function
from kitpick_ingest.sources.mcp_tools import McpServer, tool_document

_INNER = ("tool_def", "metadata")
"""Where Pydantic AI and LlamaIndex keep what a tool declares."""
_SCHEMAS = (
    "tool_call_schema",  # LangChain
    "params_json_schema",  # OpenAI Agents
    "parameters_json_schema",  # Pydantic AI
    "input_schema",  # Anthropic
    "fn_schema",  # LlamaIndex
    "parameters",  # Haystack
)


class PythonTools:
    """A list of tools as a source. Its position in the list names each of them in dead letters."""

    def __init__(self, tools: Sequence[object], name: str = "") -> None:
        self._tools = tools
        self.name = name or "tools"

    def read(self) -> Iterator[Converted]:
        """Documents in the order of the list; a dead letter for what declares no tool."""
        for place, tool in enumerate(self._tools):
            position = f"{self.name}[{place}]"
            try:
                raw = msgspec.json.encode(declaration(tool))
            except Exception as error:  # noqa: BLE001 - a tool runs code of its own to declare itself
                own = isinstance(error, BadEntry | TypeError | ValueError | RecursionError)
                why = str(error) if own else f"it does not declare itself: {type(error).__name__}: {error}"
                yield DeadLetter(self.name, position, why, _shown(tool))
                continue
            yield from self._converted(Entry(position, raw), tool)

    def _converted(self, entry: Entry, tool: object) -> Iterator[Converted]:
        if _is_of_mcp(tool):
            yield convert_entry(self.name, entry, self._of_mcp)
        else:
            yield from read_function(self.name, entry)

    def _of_mcp(self, entry: Entry) -> ApiDocument:
        return tool_document(entry, McpServer(self.name, self.name))


def _shown(tool: object) -> str:
    try:
        return repr(tool)[:200]
    except Exception:  # noqa: BLE001 - as above
        return f"an object of type {type(tool).__name__}"


def declaration(tool: object) -> JsonObject:
    """The declaration of a tool: a dict is one already.

    Raises:
        BadEntry: it is nothing that declares a tool.
    """
    if isinstance(tool, Mapping):
        return dict(tool)
    if isinstance(tool, type):
        return _of_class(tool)
    if _is_of_mcp(tool):
        found: JsonObject = tool.model_dump(mode="json", by_alias=True, exclude_none=True)  # type: ignore[attr-defined]
        return found
    if isinstance(spec := getattr(tool, "tool_spec", None), Mapping):  # Strands
        return dict(spec)
    for declares in (tool, *(getattr(tool, key, None) for key in _INNER)):
        if (declared := _of_framework(declares)) is not None:
            return declared
    if inspect.isroutine(tool) or callable(tool):
        return declared_function(tool)
    kind = type(tool).__name__
    raise BadEntry(
        f"an object of type {kind} declares no tool: give a dict, a function or a framework's tool"
    )


def _is_of_mcp(tool: object) -> bool:
    return type(tool).__module__.partition(".")[0] in ("mcp", "mcp_types") and hasattr(tool, "model_dump")


def _of_framework(tool: object) -> JsonObject | None:
    """What an object with a name, a description and a schema declares; None for any other."""
    name = getattr(tool, "name", None)
    if not isinstance(name, str):
        return None
    for key in _SCHEMAS:
        schema: Any = getattr(tool, key, None)
        if hasattr(schema, "model_json_schema"):
            schema = schema.model_json_schema()
        if isinstance(schema, Mapping):
            text = getattr(tool, "description", "") or ""
            return {"name": name, "description": text, "parameters": dict(schema)}
    function = getattr(tool, "func", None)  # ADK
    return declared_function(function) | {"name": name} if callable(function) else None


def _of_class(kind: type) -> JsonObject:
    """A class whose fields are the inputs: a model, a dataclass, a `TypedDict` or a `Struct`.

    Raises:
        BadEntry: it is none of these.
    """
    schemas, definitions = schemas_of({"": kind})
    schema: dict[str, Any] = schemas[""]
    if reference := schema.pop("$ref", ""):
        key = reference.rpartition("/")[2]
        schema = dict(definitions[key])
        if reference.encode() not in msgspec.json.encode(definitions):  # it does not hold itself
            del definitions[key]
    if schema.get("type") != "object":
        raise BadEntry(f"the class {kind.__name__} has no fields to give: pass an instance, or a function")
    text = prose(schema.pop("description", ""))
    more = {"$defs": definitions} if definitions else {}
    return {"name": kind.__name__, "description": text, "parameters": schema | more}
