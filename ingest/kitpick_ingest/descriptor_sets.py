"""Descriptor sets of Protocol Buffers: what `protoc --descriptor_set_out` writes of `.proto` files.

The package `protobuf` decodes them. What comes out is JSON, so that nothing else knows that package.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from kitpick_foundation.errors import MissingExtra
from kitpick_ingest.errors import SourceError
from kitpick_ingest.json_files import os_reason
from kitpick_ingest.json_values import JsonObject

MAX_SET_BYTES = 64 * 1024 * 1024
"""A set is held in memory as a whole; the whole of Google's public APIs has about half of this."""
MADE_BY = "make it with protoc --descriptor_set_out=FILE --include_imports --include_source_info"
MAX_COMMENT = 16_000
"""Characters that are kept of a comment."""

_MESSAGES, _ENUMS, _SERVICES = 4, 5, 6
_NESTED, _NESTED_ENUMS, _METHODS = 3, 4, 2
"""Numbers of fields in `descriptor.proto`, by which comments name a place."""
_HTTP, _FIELD_BEHAVIOR = 72295728, 1052
"""Numbers of the options in `google/api/annotations.proto` and `google/api/field_behavior.proto`."""
_STRING, _MESSAGE, _ENUM = 9, 11, 14
_OPTIONAL, _REPEATED = 1, 3

Comments = Mapping[tuple[int, ...], str]


class ProtoElement:
    """A service, method, message or enum of a set, as JSON, with what its file says of it and its parts."""

    def __init__(self, name: str, descriptor: Any, file: _ProtoFile, path: tuple[int, ...]) -> None:  # noqa: ANN401
        self.name = name
        """The whole name, without a dot before it."""
        self.package = file.package
        self._descriptor = descriptor
        self._file = file
        self._path = path

    @property
    def json(self) -> JsonObject:
        """The descriptor as JSON, in Protocol Buffers' own form of it."""
        from google.protobuf.json_format import MessageToDict

        made: JsonObject = MessageToDict(self._descriptor)
        return made

    @property
    def is_deprecated(self) -> bool:
        """Whether its options say so."""
        deprecated: bool = self._descriptor.options.deprecated
        return deprecated

    @property
    def is_entry(self) -> bool:
        """Whether a message is an entry of a map."""
        entry: bool = getattr(self._descriptor.options, "map_entry", False)
        return entry

    def comment(self, *part: int) -> str:
        """What stands beside it, or beside a part of it: number of the field, and place in it."""
        return self._file.comments.get(self._path + part, "")

    def methods(self) -> Iterator[ProtoElement]:
        """The methods of a service, in their order."""
        for index, method in enumerate(self._descriptor.method):
            yield ProtoElement(self.name, method, self._file, (*self._path, _METHODS, index))


class DescriptorSet:
    """The services and types of a `FileDescriptorSet`.

    Raises:
        SourceError: not of this form, or without any file.
        MissingExtra: the package `protobuf` is not installed.
    """

    def __init__(self, data: bytes, where: str) -> None:
        self._files = [_ProtoFile(each) for each in _decoded(data, where).file]
        if not self._files:
            raise SourceError(where, "is no descriptor set", MADE_BY)
        self._types = {type_.name: type_ for file in reversed(self._files) for type_ in file.types()}

    def services(self) -> Iterator[ProtoElement]:
        """The services of all files, those that were only imported included."""
        for file in self._files:
            yield from file.services()

    def find(self, name: str) -> ProtoElement | None:
        """A message or an enum by its whole name, with or without the dot before it."""
        return self._types.get(name.removeprefix("."))


class _ProtoFile:
    def __init__(self, descriptor: Any) -> None:  # noqa: ANN401 - made at run time
        self.descriptor = descriptor
        self.package = _text(descriptor.package)
        self._comments: Comments | None = None

    @property
    def comments(self) -> Comments:
        """What is said beside each place. It is read when it is first asked for."""
        if self._comments is None:
            self._comments = dict(_comments(self.descriptor.source_code_info.location))
        return self._comments

    def services(self) -> Iterator[ProtoElement]:
        for index, service in enumerate(self.descriptor.service):
            yield ProtoElement(self._within(service.name), service, self, (_SERVICES, index))

    def types(self) -> Iterator[ProtoElement]:
        """Messages and enums, those inside messages included."""
        file = self.descriptor
        pending: list[tuple[str, Any, tuple[int, ...]]] = [
            (self._within(each.name), each, (_MESSAGES, index))
            for index, each in enumerate(file.message_type)
        ]
        for index, enum in enumerate(file.enum_type):
            yield ProtoElement(self._within(enum.name), enum, self, (_ENUMS, index))
        while pending:
            name, message, path = pending.pop()
            yield ProtoElement(name, message, self, path)
            for index, enum in enumerate(message.enum_type):
                yield ProtoElement(f"{name}.{_text(enum.name)}", enum, self, (*path, _NESTED_ENUMS, index))
            for index, inner in enumerate(message.nested_type):
                pending.append((f"{name}.{_text(inner.name)}", inner, (*path, _NESTED, index)))

    def _within(self, name: str | bytes) -> str:
        return f"{self.package}.{_text(name)}" if self.package else _text(name)


def read_set(path: Path) -> DescriptorSet:
    """The descriptor set of a file.

    Raises:
        SourceError: it cannot be read, is larger than `MAX_SET_BYTES`, or is no descriptor set.
        MissingExtra: the package `protobuf` is not installed.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_SET_BYTES + 1)
    except OSError as error:
        raise SourceError(str(path), f"cannot be read: {os_reason(error)}") from error
    if len(data) > MAX_SET_BYTES:
        cure = "write a set for each service"
        raise SourceError(str(path), f"is larger than {MAX_SET_BYTES:,} bytes", cure)
    return DescriptorSet(data, str(path))


def _comments(locations: Any) -> Iterator[tuple[tuple[int, ...], str]]:  # noqa: ANN401
    """The comment before each place, or the one behind it."""
    for location in locations:
        text = _text(location.leading_comments or location.trailing_comments)
        if lines := text[:MAX_COMMENT].strip().splitlines():
            yield tuple(location.path), "\n".join(line.strip() for line in lines)


def _text(value: str | bytes) -> str:
    """A text of a descriptor, which is bytes where it is no UTF-8."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


def _decoded(data: bytes, where: str) -> Any:  # noqa: ANN401 - made at run time
    form = _form()
    from google.protobuf.message import DecodeError

    try:
        return form.FromString(data)
    except DecodeError as error:
        raise SourceError(where, "cannot be read as a descriptor set", MADE_BY) from error


@cache
def _form() -> Any:  # noqa: ANN401 - made at run time
    """The class of descriptor sets, with the options of Google's that say what a method does.

    It is in a pool of its own: nothing of other packages changes, and what a set defines is not loaded.
    """
    try:
        from google.protobuf.descriptor_pb2 import DESCRIPTOR, FileDescriptorProto
        from google.protobuf.descriptor_pool import DescriptorPool
        from google.protobuf.message_factory import GetMessageClass
    except ImportError as error:
        raise MissingExtra("grpc", "reading descriptor sets of gRPC") from error
    pool = DescriptorPool()
    known = FileDescriptorProto()
    DESCRIPTOR.CopyToProto(known)
    pool.Add(known)
    pool.Add(_options(FileDescriptorProto(name="kitpick/options.proto", dependency=[known.name])))
    return GetMessageClass(pool.FindMessageTypeByName("google.protobuf.FileDescriptorSet"))


def _options(file: Any) -> Any:  # noqa: ANN401 - made at run time
    """Google's options for how a method is reached by HTTP, and for what a field is."""
    file.package = "google.api"
    pattern = file.message_type.add(name="CustomHttpPattern")
    for number, name in enumerate(("kind", "path"), 1):
        pattern.field.add(name=name, number=number, type=_STRING, label=_OPTIONAL)
    rule = file.message_type.add(name="HttpRule")
    for number, name in enumerate(("get", "put", "post", "delete", "patch", "body"), 2):
        rule.field.add(name=name, number=number, type=_STRING, label=_OPTIONAL)
    for number, name, label, kind in (
        (8, "custom", _OPTIONAL, "CustomHttpPattern"),
        (11, "additional_bindings", _REPEATED, "HttpRule"),
    ):
        rule.field.add(name=name, number=number, type=_MESSAGE, label=label, type_name=f".google.api.{kind}")
    behavior = file.enum_type.add(name="FieldBehavior")
    for number, name in enumerate(("UNSPECIFIED", "OPTIONAL", "REQUIRED", "OUTPUT_ONLY")):
        behavior.value.add(name=name, number=number)
    for name, number, options, label, type_, kind in (
        ("http", _HTTP, "MethodOptions", _OPTIONAL, _MESSAGE, "HttpRule"),
        ("field_behavior", _FIELD_BEHAVIOR, "FieldOptions", _REPEATED, _ENUM, "FieldBehavior"),
    ):
        extension = file.extension.add(name=name, number=number, label=label, type=type_)
        extension.extendee = f".google.protobuf.{options}"
        extension.type_name = f".google.api.{kind}"
    return file
