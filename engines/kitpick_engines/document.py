"""The document: one API of one tool. Sources yield it, engines store it."""

from __future__ import annotations

import enum
import hashlib
import re
from typing import NamedTuple

import msgspec

from kitpick_engines.errors import InvalidDocument
from kitpick_foundation.decoding import decoder_of

MAX_DOCUMENT_BYTES = 4 * 1024 * 1024
"""A larger encoded document is refused, so that one huge description cannot fill an index."""
MAX_NESTING = 100
"""Levels of a definition. MCP's libraries carry less than twice as many, with what is around it."""
_STRING_OR_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)


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


class Thing(NamedTuple):
    """What one API gives and another needs: a role of a resource, such as the id of an artist.

    Documents hold things as text, `artist.id~9` or `artist_id=artist.id~9`: resource and role in lower case,
    the confidence in tenths, and before `=` the input that wants it.
    """

    resource: str
    """What it is of, in the singular: `artist`, `security group`."""
    role: str
    """`id`, `name`, `arn`, …; `call` where what is needed is a call of the API that `resource` names; empty
    for the resource itself."""
    confidence: float
    """How likely it is what its name says, in [0, 1]."""
    input: str = ""
    """The name of the input; empty for what is given."""

    @property
    def text(self) -> str:
        """As a document holds it."""
        written = f"{self.resource}.{self.role}~{round(10 * self.confidence)}"
        return f"{self.input}={written}" if self.input else written

    @classmethod
    def read(cls, text: str) -> Thing | None:
        """Inverse of `text`, None for anything else: it may come from another's index."""
        name, _, written = text[:400].rpartition("=")
        resource, _, rest = written.rpartition(".")
        role, _, tenths = rest.partition("~")
        if not resource or tenths not in _TENTHS:
            return None
        return cls(resource, role, int(tenths) / 10, name)


ROLES = {
    "id": "id", "identifier": "id", "uuid": "id", "guid": "id", "ids": "id", "identifiers": "id",
    "uid": "id", "gid": "id", "pk": "id", "sha": "id",
    "arn": "arn", "arns": "arn", "name": "name", "names": "name", "key": "key", "keys": "key",
    "slug": "key", "handle": "key", "code": "code", "codes": "code", "url": "url", "urls": "url",
    "uri": "url", "uris": "url",
}  # fmt: skip
"""Last words of identifiers' names, and the role of a `Thing` that they say."""
_TENTHS = frozenset(map(str, range(11)))


class ApiDocument(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One callable API with its place in the hierarchy category → tool → api.

    `definition` is the original schema exactly as it was read, as JSON text. It is stored, never indexed, and
    returned unchanged. `allowed` names the principals who may see the API; empty means everybody. `tenant`
    restricts it to one tenant; empty means shared by all.
    """

    id: str
    """Identity in the catalog; it begins with the name of the source."""
    source: str
    """Name of the source that owns the document."""
    category: str
    """Coarse group that the tool belongs to."""
    tool: str
    """Group of APIs that are delivered together: a specification, an MCP server, a service."""
    api: str
    """Name of the API within its tool."""
    description: str = ""
    """What the API does, as its source says it."""
    parameters: tuple[Parameter, ...] = ()
    """Its inputs: name, type, whether required, description."""
    returns: str = ""
    """What an answer is, in words."""
    examples: tuple[str, ...] = ()
    """Sample requests or calls of the source."""
    tags: tuple[str, ...] = ()
    """Keywords of the source."""
    version: str = ""
    """Version of the API."""
    deprecated: bool = False
    """Whether the source calls it deprecated."""
    successor: str = ""
    """What to use instead of a deprecated API."""
    effect: Effect = Effect.UNKNOWN
    """Whether a call reads, writes or destroys."""
    tenant: str = ""
    """The only tenant that may see it; empty: shared by all."""
    allowed: tuple[str, ...] = ()
    """Principals who may see it; empty: everybody."""
    definition: str = ""
    """The original schema, as JSON text."""
    needs: tuple[str, ...] = ()
    """Things that a caller must have found before, see `Thing`."""
    gives: tuple[str, ...] = ()
    """Things that an answer holds, what it is about first."""
    about: str = ""
    """What its tool is for, in the tool's own words, such as the instructions of an MCP server."""
    purpose: str = ""
    """The description, where it begins with text that other APIs of its tool share: with that at its end.
    Else empty. Models read it in place of the description; it is never shown."""
    inputs: str = ""
    """JSON text of what `parameters` do not say of the inputs: allowed values, defaults, formats, fields of
    objects; with `properties` by names of parameters, `$defs`, and what holds for all inputs. Not indexed."""

    @property
    def tool_key(self) -> str:
        """Identity of the tool: the same name in two categories is two tools."""
        return tool_key(self.category, self.tool)

    @property
    def content_hash(self) -> str:
        """128-bit digest of all fields. If it has not changed, the document need not be written again."""
        return _digest(encode_document(self))


def tool_key(category: str, tool: str) -> str:
    """`category/tool` with the separator escaped inside the parts."""
    return f"{escape_part(category)}/{escape_part(tool)}"


def document_id(source: str, *parts: str) -> str:
    """Stable id `source/tool/api`; with more levels if names are unique only within a level."""
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


_DOCUMENT = decoder_of(ApiDocument)


def decode_document(data: bytes) -> ApiDocument:
    """Inverse of `encode_document`."""
    return _DOCUMENT.decode(data)


def encode_chains(document: ApiDocument) -> bytes:
    """What it needs and gives, small enough to come with every candidate; empty where that is nothing."""
    return msgspec.json.encode((document.needs, document.gives)) if document.needs or document.gives else b""


_CHAINS = decoder_of(tuple[tuple[str, ...], tuple[str, ...]])


def decode_chains(data: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Inverse of `encode_chains`."""
    return _CHAINS.decode(data) if data else ((), ())


def validate_document(document: ApiDocument) -> ApiDocument:
    """Returns the document unchanged if an engine can hold it.

    Raises:
        InvalidDocument: an empty identity field, a NUL byte, text without a UTF-8 form, or too large.
    """
    _valid_encoding(document)
    return document


def valid_content_hash(document: ApiDocument) -> str:
    """Validates a document and returns its `content_hash`, encoding it only once.

    Raises:
        InvalidDocument: as in `validate_document`.
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
    if any(nests_deeper(text, MAX_NESTING) for text in (document.definition, document.inputs)):
        raise InvalidDocument(document.id, f"nested too deeply: the limit is {MAX_NESTING} levels")
    return encoded


def nests_deeper(text: str, most: int) -> bool:
    """Whether objects and lists of a JSON text are nested more than `most` levels deep."""
    if text.count("{") + text.count("[") <= most:
        return False
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        depth += (found[0] in "[{") - (found[0] in "]}")
        if depth > most:
            return True
    return False


def _digest(encoded: bytes) -> str:
    return hashlib.blake2b(encoded, digest_size=16).hexdigest()


def _has_nul(document: ApiDocument) -> bool:
    """Looks at the strings, because the escape in the JSON can also be a backslash followed by text."""
    fields = msgspec.structs.asdict(document)
    texts = [value for value in fields.values() if isinstance(value, str)]
    texts += [item for name in ("examples", "tags", "allowed", "needs", "gives") for item in fields[name]]
    texts += [text for p in document.parameters for text in (p.name, p.type, p.description)]
    return any("\0" in text for text in texts)
