"""What the tools of the door take, written once: checked by it, and shown to the model as JSON Schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec

from toolrank.mcp.errors import ToolProblem

EffectName = Literal["unknown", "read", "write", "destructive"]
ToolId = Annotated[
    str, msgspec.Meta(min_length=1, max_length=2_000, description="The id that search_tools gave.")
]
Tokens = Annotated[
    int, msgspec.Meta(ge=0, le=10_000_000, description="Tokens that all definitions may take together.")
]
Arguments = TypeVar("Arguments", bound=msgspec.Struct)


class SearchArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of `search_tools`."""

    query: Annotated[
        str,
        msgspec.Meta(
            min_length=1,
            max_length=20_000,
            description="What is to be done, in words. Several steps are fine.",
        ),
    ]
    k: Annotated[int, msgspec.Meta(ge=1, le=50, description="How many tools at most.")] = 5
    budget: Tokens | None = None
    categories: Annotated[list[str], msgspec.Meta(max_length=100, description="Only these categories.")] = []
    tools: Annotated[
        list[str], msgspec.Meta(max_length=100, description="Only these tools, as CATEGORY/TOOL.")
    ] = []
    effects: Annotated[
        list[EffectName], msgspec.Meta(max_length=4, description="Only what does this to the world.")
    ] = []
    deprecated: Literal["include", "exclude", "only"] = "include"


class DescribeArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of `describe_tool`."""

    id: ToolId


class CallArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of `call_tool`."""

    id: ToolId
    arguments: Annotated[
        dict[str, Any], msgspec.Meta(description="What the tool takes, as its inputSchema says.")
    ] = {}


def read_arguments(given: dict[str, Any] | None, expected: type[Arguments]) -> Arguments:
    """The arguments of a call.

    Raises:
        ToolProblem: one is missing, unknown or out of range.
    """
    try:
        return msgspec.convert(given or {}, expected)
    except msgspec.ValidationError as error:
        raise ToolProblem(f"the arguments are not what the inputSchema says: {error}") from error


def schema_of(expected: type[msgspec.Struct]) -> dict[str, Any]:
    """JSON Schema of the arguments, without references."""
    (_,), components = msgspec.json.schema_components([expected])
    (schema,) = components.values()
    return {key: value for key, value in schema.items() if key != "title"} | {"additionalProperties": False}
