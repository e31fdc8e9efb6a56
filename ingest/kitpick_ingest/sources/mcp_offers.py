"""Resources and prompts of an MCP server, written as tools, so that they are found beside its tools.

A resource becomes a tool `resource.NAME` that is read without inputs, a template one whose inputs are its
variables, a prompt a tool `prompt.NAME` with the prompt's arguments. `_meta` of the definition says what is
meant; whoever runs such a tool asks the server for `resources/read` or `prompts/get`.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

import msgspec

from kitpick_foundation.decoding import convert_to, decode_as

KEY = "kitpick/offer"
"""In `_meta` of a definition."""
_VARIABLE = re.compile(r"\{([+#./;?&]?)([\w,*.]+)\}")
_RESERVED = ":/?#[]@!$&'()*+,;="
_OPERATORS = {
    "": ("", ",", ""),
    "+": ("", ",", _RESERVED),
    "#": ("#", ",", _RESERVED),
    ".": (".", ".", ""),
    "/": ("/", "/", ""),
    ";": (";", ";", ""),
    "?": ("?", "&", ""),
    "&": ("&", "&", ""),
}
"""What stands before the values and between them, and what of them is not escaped (RFC 6570)."""
_NAMED = (";", "?", "&")
"""Operators whose values stand behind their names."""


class Offer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a tool stands for that is none."""

    resource: str = ""
    """URI."""
    template: str = ""
    """URI with variables."""
    prompt: str = ""
    """Name."""

    def uri(self, arguments: dict[str, Any]) -> str:
        """The URI that is read, a template filled by RFC 6570; a path, `{/path*}`, may be one text."""
        if self.resource:
            return self.resource

        return _VARIABLE.sub(lambda found: _filled(found[1], found[2], arguments), self.template)


def _filled(operator: str, names: str, arguments: dict[str, Any]) -> str:
    """What stands in a URI for one expression of a template."""
    first, between, safe = _OPERATORS[operator]
    values: list[str] = []
    for name, each in ((said.rstrip("*"), said.endswith("*")) for said in names.split(",")):
        items = [quote(item, safe=safe) for item in _items(arguments.get(name), operator == "/" and each)]
        held = items if each or not items else [",".join(items)]
        values += [f"{name}={item}" for item in held] if operator in _NAMED else held
    return first + between.join(values) if values else ""


def _items(value: object, is_path: bool) -> list[str]:
    """The texts of an argument: none, one, or those of a list; of a path its parts."""
    if is_path and isinstance(value, str):
        return [part for part in value.split("/") if part]
    given = value if isinstance(value, list) else [] if value is None else [value]
    return list(map(in_words, given))


def in_words(value: object) -> str:
    """An argument as text: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


class _Definition(msgspec.Struct):
    meta: dict[str, Any] = msgspec.field(default_factory=dict, name="_meta")


def offer_of(definition: str) -> Offer | None:
    """What the definition of a document stands for, None for a tool.

    A server that writes this into a tool of its own gains nothing: it is itself that is asked.
    """
    try:
        return convert_to(decode_as(definition, _Definition).meta.get(KEY), Offer | None)
    except msgspec.MsgspecError:
        return None


def resource_tool(resource: dict[str, Any]) -> dict[str, Any]:
    """A resource of `resources/list` as a tool."""
    offer = Offer(resource=str(resource.get("uri", "")))
    return _tool("resource", resource, _kind(resource, "Resource"), [], offer)


def template_tool(template: dict[str, Any]) -> dict[str, Any]:
    """A template of `resources/templates/list` as a tool."""
    uri = str(template.get("uriTemplate", ""))
    required: dict[str, bool] = {}  # what stands in a query may be left out
    for operator, found in _VARIABLE.findall(uri):
        for name in _names(found):
            required[name] = required.get(name, False) or operator not in ("?", "&")
    inputs = [{"name": name, "required": each} for name, each in required.items()]
    return _tool("resource", template, _kind(template, "Resource"), inputs, Offer(template=uri))


def prompt_tool(prompt: dict[str, Any]) -> dict[str, Any]:
    """A prompt of `prompts/list` as a tool."""
    arguments = prompt.get("arguments")
    inputs = [each for each in arguments if isinstance(each, dict)] if isinstance(arguments, list) else []
    return _tool("prompt", prompt, "Prompt", inputs, Offer(prompt=str(prompt.get("name", ""))))


def _tool(
    kind: str, given: dict[str, Any], what: str, inputs: list[dict[str, Any]], offer: Offer
) -> dict[str, Any]:
    """What has no name stays as it came, which is no tool."""
    name = given.get("name")
    if not (isinstance(name, str) and name):
        return given
    about = str(given.get("description") or given.get("title") or name)
    properties = {
        str(each.get("name", "")): {"type": "string"}
        | ({"description": str(each["description"])} if each.get("description") else {})
        for each in inputs
    }
    required = [str(each.get("name", "")) for each in inputs if each.get("required")]
    return {
        "name": f"{kind}.{name}",
        "description": f"{about} ({what})",
        "inputSchema": {"type": "object", "properties": properties, "required": required},
        "annotations": {"readOnlyHint": True},
        "_meta": {KEY: json.loads(msgspec.json.encode(offer))},
    }


def _kind(given: dict[str, Any], what: str) -> str:
    mime = given.get("mimeType")
    return f"{what}, {mime}" if isinstance(mime, str) and mime else what


def _names(found: str) -> list[str]:
    return [name.rstrip("*") for name in found.split(",") if name.rstrip("*")]
