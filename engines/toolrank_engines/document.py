"""The document that every source yields and every engine stores: one API of one tool."""

from __future__ import annotations

import enum
import hashlib

import msgspec

from toolrank_engines.errors import InvalidDocument

MAX_DOCUMENT_BYTES = 4 * 1024 * 1024
"""An encoded document above this size is refused: one runaway description must not fill an index."""


class Effect(str, enum.Enum):
    """What calling the API does to the world."""

    UNKNOWN = "unknown"
    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"


class Parameter(msgspec.Struct, frozen=True, omit_defaults=True):
    """One input of an API, reduced to what retrieval needs; the full schema is in `definition`."""

    name: str
    type: str = ""
    required: bool = False
    description: str = ""


class ApiDocument(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One callable API with its place in the hierarchy category → tool → api.

    `definition` is the upstream schema exactly as it was read, as JSON text; it is stored, never indexed, and
    handed back unchanged. `allowed` names the principals who may see the API: empty means everybody. `tenant`
    restricts it to one tenant: empty means shared by all.
    """

    id: str
    source: str
    category: str
    tool: str
    api: str
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    returns: str = ""
    examples: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    version: str = ""
    deprecated: bool = False
    successor: str = ""
    effect: Effect = Effect.UNKNOWN
    tenant: str = ""
    allowed: tuple[str, ...] = ()
    definition: str = ""

    @property
    def tool_key(self) -> str:
        """Identity of the tool: the same name in two categories is two tools."""
        return tool_key(self.category, self.tool)

    @property
    def content_hash(self) -> str:
        """128-bit digest of every field: equal hashes mean nothing has to be written again."""
        return _digest(encode_document(self))


def tool_key(category: str, tool: str) -> str:
    """`category/tool` with the separator escaped inside the parts."""
    return f"{escape_part(category)}/{escape_part(tool)}"


def document_id(source: str, *parts: str) -> str:
    """Stable id `source/tool/api`, or with more levels where upstream names are only unique within one."""
    return "/".join(escape_part(part) for part in (source, *parts))


def escape_part(part: str) -> str:
    """Escapes the separator so that no two different paths share an id."""
    return part.replace("%", "%25").replace("/", "%2F")


def encode_document(document: ApiDocument) -> bytes:
    """Deterministic JSON of the document.

    Raises:
        InvalidDocument: text that has no UTF-8 form (a lone surrogate).
    """
    try:
        return msgspec.json.encode(document)
    except UnicodeEncodeError as error:
        raise InvalidDocument(document.id, f"text without a UTF-8 form: {error.reason}") from error


def decode_document(data: bytes) -> ApiDocument:
    """Inverse of `encode_document`."""
    return msgspec.json.decode(data, type=ApiDocument)


def validate_document(document: ApiDocument) -> ApiDocument:
    """Returns the document unchanged when an engine can hold it.

    Raises:
        InvalidDocument: an empty identity field, a NUL byte, text without a UTF-8 form, or too large.
    """
    _valid_encoding(document)
    return document


def valid_content_hash(document: ApiDocument) -> str:
    """`content_hash` of a document that an engine can hold, for the price of one encoding.

    Raises:
        InvalidDocument: as `validate_document`.
    """
    return _digest(_valid_encoding(document))


def _valid_encoding(document: ApiDocument) -> bytes:
    for field in ("id", "source", "tool", "api"):
        if not getattr(document, field).strip():
            raise InvalidDocument(document.id, f"field {field!r} is empty")
    encoded = encode_document(document)
    if b"\\u0000" in encoded and _has_nul(document):
        raise InvalidDocument(document.id, "text contains a NUL byte")
    if len(encoded) > MAX_DOCUMENT_BYTES:
        raise InvalidDocument(document.id, f"{len(encoded):,} bytes, the limit is {MAX_DOCUMENT_BYTES:,}")
    return encoded


def _digest(encoded: bytes) -> str:
    return hashlib.blake2b(encoded, digest_size=16).hexdigest()


def _has_nul(document: ApiDocument) -> bool:
    """The escape in the JSON can also be a backslash followed by text: look at the strings themselves."""
    fields = msgspec.structs.asdict(document)
    texts = [value for value in fields.values() if isinstance(value, str)]
    texts += [item for name in ("examples", "tags", "allowed") for item in fields[name]]
    texts += [text for p in document.parameters for text in (p.name, p.type, p.description)]
    return any("\0" in text for text in texts)
