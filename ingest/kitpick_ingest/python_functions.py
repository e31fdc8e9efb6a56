"""The declaration of a Python function: what it does, and the JSON Schema of its inputs.

The signature says which inputs there are, the docstring what they mean (Google's, NumPy's or Sphinx' style).
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import sys
import types
import typing
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from kitpick_ingest.entries import BadEntry
from kitpick_ingest.json_values import JsonObject

_SECTIONS = (
    r"Args|Arguments|Parameters|Params|Other Parameters|Keyword Args|Keyword Arguments|Returns?|Yields?"
    r"|Raises|Examples?|Notes?|Attributes|References|See Also|Todo|Warns|Warnings?"
)
_END_OF_PROSE = re.compile(
    rf"^(?:(?:{_SECTIONS}):[ \t]*$|(?:{_SECTIONS})[ \t]*\n-{{3,}}"
    r"|:(?:param|parameter|arg|argument|key|keyword|type|returns?|rtype|raises?)\b)",
    re.MULTILINE,
)
_NO_INPUT = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_REFERENCE = "#/$defs/{name}"


def declared_function(function: Callable[..., object]) -> JsonObject:
    """Name, description and parameters of a function, method, partial or object that can be called.

    Raises:
        BadEntry: it has no name or signature, or parameters that no caller by name can give.
    """
    target, bound = _unwrapped(function)
    name = getattr(target, "__name__", type(function).__name__)
    if not name.isidentifier():
        raise BadEntry(f"a function without a name ({name}): define it with `def`")
    doc = inspect.getdoc(target) or ""
    if not inspect.isroutine(target):  # an object: its class describes what `__call__` does not
        doc = inspect.getdoc(type(target).__call__) or doc
    parameters = _parameters(function, name, bound)
    return {"name": name, "description": prose(doc), "parameters": _schema(target, parameters, doc)}


def prose(doc: str) -> str:
    """What a docstring says before its first section."""
    found = _END_OF_PROSE.search(doc)
    return doc[: found.start()].strip() if found else doc.strip()


def described(doc: str, names: Collection[str]) -> dict[str, str]:
    """What a docstring says about each of these parameters."""
    if not names:
        return {}
    name = rf"(?P<name>{'|'.join(sorted(names, key=len, reverse=True))})"
    entry = re.compile(
        rf"(?P<indent>[ \t]*)(?:"
        rf":(?:param|parameter|arg|argument|key|keyword)[ ]+(?:[^:]*[ ])?{name}[ ]*:"
        rf"|\*{{0,2}}{name.replace('<name>', '<google>')}[ ]*(?:\([^\n]*?\))?:(?=[ \t]|$)(?<![ ]:)"
        rf"|{name.replace('<name>', '<numpy>')}[ ]*(?::[ ][^\n]*)?$"
        rf")(?P<text>[^\n]*)"
    )
    lines = doc.splitlines()
    found: dict[str, str] = {}
    for row, line in enumerate(lines):
        if entered := entry.match(line):
            key = next(filter(None, entered.group("name", "google", "numpy")))
            more = _deeper(lines[row + 1 :], len(entered["indent"]))
            if text := " ".join([entered["text"].strip(), *more]).strip():
                found.setdefault(key, text)
    return found


def _deeper(lines: list[str], indent: int) -> list[str]:
    """The lines, up to the first that is not indented more."""
    found = []
    for line in lines:
        if not line.strip() or len(line) - len(line.lstrip()) <= indent:
            break
        found.append(line.strip())
    return found


def _unwrapped(function: Callable[..., object]) -> tuple[Callable[..., object], set[str]]:
    """What partials are of, and the names of the parameters that they have given by name."""
    names: set[str] = set()
    while isinstance(function, functools.partial):
        names |= function.keywords.keys()
        function = function.func
    return function, names


def _parameters(
    function: Callable[..., object], name: str, bound: Collection[str]
) -> dict[str, inspect.Parameter]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise BadEntry(f"{name}: Python tells no signature of it: give its declaration as a dict") from error
    found = {key: each for key, each in signature.parameters.items() if key not in bound}
    if _is_unbound(function, found):
        raise BadEntry(f"{name}: a method needs its object: give the method of an instance")
    if any(each.kind is inspect.Parameter.POSITIONAL_ONLY for each in found.values()):
        raise BadEntry(f"{name}: has parameters that are positional only: no model can name them")
    return {key: each for key, each in found.items() if each.kind not in _NO_INPUT}


def _is_unbound(function: Callable[..., object], parameters: Mapping[str, object]) -> bool:
    """Whether a method was taken from its class, so that its object would be an input."""
    within = getattr(function, "__qualname__", "").rpartition(".")[0]
    return next(iter(parameters), "") == "self" and bool(within) and not within.endswith("<locals>")


def _schema(target: object, parameters: Mapping[str, inspect.Parameter], doc: str) -> JsonObject:
    hints = _hints(target)
    texts = described(doc, parameters.keys())
    kinds = {key: _kind(hints.get(key, Any), each.default) for key, each in parameters.items()}
    schemas, definitions = schemas_of(kinds)
    for key, parameter in parameters.items():
        if text := texts.get(key) or _annotated(kinds[key]):
            schemas[key] = {**schemas[key], "description": text}
        schemas[key] |= _default(parameter.default)
    required = [key for key, each in parameters.items() if _is_required(each.default)]
    schema: JsonObject = {"type": "object", "properties": schemas}
    return (
        schema
        | ({"required": required} if required else {})
        | ({"$defs": definitions} if definitions else {})
    )


def _hints(target: object) -> dict[str, Any]:
    """Types of the parameters; nothing is known of one that cannot be resolved here, or is only prose."""
    function = inspect.unwrap(target if inspect.isroutine(target) else type(target).__call__)
    found: dict[str, Any] = {}
    for name, hint in getattr(function, "__annotations__", {}).items():
        alone = types.SimpleNamespace(__annotations__={name: hint})
        with suppress(Exception):  # an annotation may be any text, which is run as code
            scope = getattr(function, "__globals__", None)
            found |= typing.get_type_hints(alone, globalns=scope, include_extras=True)
    return found


def schemas_of(kinds: Mapping[str, Any]) -> tuple[dict[str, JsonObject], JsonObject]:
    """JSON Schema of each type, and the definitions that they refer to; `{}` of a type that JSON has not."""
    definitions: JsonObject = {}

    def of_model(kind: type) -> JsonObject:
        if not hasattr(kind, "model_json_schema"):  # pydantic's
            raise NotImplementedError
        schema: JsonObject = kind.model_json_schema(ref_template="#/$defs/{model}")
        definitions.update(schema.pop("$defs", {}))
        return schema

    def components(wanted: Collection[Any]) -> tuple[tuple[JsonObject, ...], JsonObject]:
        return msgspec.json.schema_components(wanted, schema_hook=of_model, ref_template=_REFERENCE)

    def has_schema(kind: object) -> bool:
        try:
            components([kind])
        except Exception:  # noqa: BLE001 - a model makes its schema by code of its own
            return False
        return True

    known = {
        key: kind for key, kind in kinds.items() if not any(map(_is_field, _notes(kind))) and has_schema(kind)
    }
    found, shared = components(list(known.values()))
    schemas = dict(zip(known, found, strict=True))
    definitions |= shared
    others = {key: _other_schema(kind, definitions) for key, kind in kinds.items() if key not in known}
    return {key: schemas[key] if key in known else others[key] for key in kinds}, definitions


def _other_schema(kind: Any, definitions: JsonObject) -> JsonObject:  # noqa: ANN401 - any annotation
    """The schema of what pydantic knows better, or of several classes; `definitions` gets their parts."""
    if _is_of_pydantic(kind):
        with suppress(Exception):  # a model makes its schema by code of its own
            schema: JsonObject = (
                sys.modules["pydantic"].TypeAdapter(kind).json_schema(ref_template="#/$defs/{model}")
            )
            definitions.update(schema.pop("$defs", {}))
            return schema
    kind = kind.__origin__ if _notes(kind) else kind
    if typing.get_origin(kind) not in (typing.Union, types.UnionType):
        return {}
    members, parts = schemas_of({str(place): each for place, each in enumerate(typing.get_args(kind))})
    definitions |= parts
    return {"anyOf": list(members.values())} if all(members.values()) else {}


def _is_of_pydantic(kind: object) -> bool:
    """Whether a type names a model of pydantic, or a `Field`."""
    return (
        hasattr(kind, "model_json_schema")
        or _is_field(kind)
        or any(map(_is_of_pydantic, typing.get_args(kind)))
    )


def _is_field(value: object) -> bool:
    """Whether it is pydantic's `Field(…)`."""
    return type(value).__module__.partition(".")[0] == "pydantic" and hasattr(value, "is_required")


def _notes(kind: object) -> tuple[object, ...]:
    """What stands behind the type in `Annotated`."""
    return getattr(kind, "__metadata__", ())


def _kind(hint: Any, default: object) -> Any:  # noqa: ANN401 - any annotation
    """The type of a parameter, with what `= Field(…)` says of it."""
    return typing.Annotated[hint, default] if _is_field(default) else hint


def _is_required(default: Any) -> bool:  # noqa: ANN401 - any value
    return bool(default.is_required()) if _is_field(default) else default is inspect.Parameter.empty


def _annotated(hint: object) -> str:
    """What `Annotated[T, "…"]` says, or a `Field`, `Meta` or `Doc` in it."""
    for each in _notes(hint):
        text = (
            each
            if isinstance(each, str)
            else getattr(each, "description", getattr(each, "documentation", ""))
        )
        if isinstance(text, str) and text:
            return text
    return ""


def _default(value: object) -> JsonObject:
    """The default as JSON has it, nothing of one that it has not."""
    unwritten = value is inspect.Parameter.empty or _is_field(value)
    if unwritten or (isinstance(value, float) and not math.isfinite(value)):
        return {}
    try:
        return {"default": msgspec.to_builtins(value)}
    except (TypeError, ValueError, RecursionError):
        return {}
