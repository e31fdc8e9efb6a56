"""The `$ref`s of JSON documents: pointers (RFC 6901), anchors and ids of JSON Schema, and files beside.

Nothing is ever fetched. A reference that leads to another document is followed if the caller can load that
document by its name; otherwise it stays unresolved.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from kitpick_ingest.json_values import JsonObject, segments

_MAX_CHAIN = 32
"""References that lead to references are followed this often; a loop ends here."""
_MOST_DIGITS = 18
"""Of a place in a list: Python refuses to read a number of thousands."""
_ANCHORS = ("$anchor", "$dynamicAnchor")
_REFERENCES = ("$ref", "$dynamicRef")
IDENTIFIERS = ("$id", "$anchor", "$dynamicAnchor", "$self")
"""Keywords by which a part of a document has a name of its own."""


Target = Callable[[str], JsonObject | None]
"""The object that a reference leads to."""


class FilePlace(NamedTuple):
    """Where a reference leads."""

    file: str
    """Name of the document, relative to the folder of the first one; empty for the first one."""
    path: tuple[str, ...]


def unresolved(value: JsonObject) -> str:
    """The reference that a value still has, or an empty text."""
    found = (value.get(key) for key in _REFERENCES)
    return next((reference for reference in found if isinstance(reference, str)), "")


def followed(value: JsonObject, target: Target) -> JsonObject:
    """The value at the end of a chain of references, each of which `target` follows one step."""
    for _ in range(_MAX_CHAIN):
        following = target(reference) if (reference := unresolved(value)) else None
        if following is None:
            break
        value = following
    return value


def file_of(reference: str) -> str:
    """The name of the document that a reference leads to, relative to the folder of the first one."""
    return _relative("", reference.partition("#")[0])


class References:
    """Resolves the references of one document and of those it is split into, each distinct one once.

    References of parts and of schemas with an `$id` are relative to these. They are rewritten in place, in
    the trees alone, to what they mean in the first document.

    Args:
        root: the whole document. It must not change while this is in use.
        name: its own file name, by which it may refer to itself.
        load: the document of a name relative to the folder of the first one (`schemas/box.yaml`), None where
            there is none. It is asked once for each.
        named: whether the document may hold identifiers, see `IDENTIFIERS`. They are looked for on first use.
    """

    def __init__(
        self,
        root: object,
        name: str = "",
        load: Callable[[str], object] = lambda _: None,
        *,
        named: bool = True,
    ) -> None:
        self._load = load
        self._own = {"", name}
        self._documents: dict[str, object] = {"": root}
        self._named = {} if named else {"": ""}
        self._ids: dict[str, tuple[JsonObject, FilePlace]] = {}
        self._anchors: dict[str, tuple[JsonObject, FilePlace]] = {}
        self._targets: dict[str, tuple[JsonObject, FilePlace] | None] = {}
        self._depth = 0

    def resolve(self, value: JsonObject) -> JsonObject:
        """The value at the end of a chain of `$ref`s; the value itself if it has none.

        What comes back still has a `$ref` where that leads out of the documents, nowhere, to something that
        is not an object, or in a circle: see `unresolved`.
        """
        return followed(value, self.target)

    def target(self, reference: str) -> JsonObject | None:
        """The object that a reference leads to, or None: one step of `resolve`."""
        found = self.find(reference)
        return found[0] if found else None

    def find(self, reference: str) -> tuple[JsonObject, FilePlace] | None:
        """The object that a reference leads to, and its place; None where it leads to none."""
        if not reference:
            return None
        if reference not in self._targets and self._depth < _MAX_CHAIN:
            self._targets[reference] = None  # for what leads to itself
            self._depth += 1
            try:
                self._targets[reference] = self._look_up(reference)
            finally:
                self._depth -= 1
        return self._targets.get(reference)

    def _look_up(self, reference: str) -> tuple[JsonObject, FilePlace] | None:
        if "" not in self._named:
            self._name(self._documents[""], "")
        try:
            return self._inside(reference)
        except ValueError:  # no URI at all
            return None

    def _inside(self, reference: str) -> tuple[JsonObject, FilePlace] | None:
        uri, _, fragment = reference.partition("#")
        uri = uri if uri in self._ids else _relative("", uri)
        if not fragment or fragment.startswith("/"):
            return self._pointed(uri, fragment)
        return self._anchors.get(f"{'' if uri in self._own else uri}#{unquote(fragment)}")

    def _pointed(self, uri: str, fragment: str) -> tuple[JsonObject, FilePlace] | None:
        """What a pointer leads to: within the schema of an id, or else within its whole document."""
        path = segments("#" + fragment)
        if uri in self._ids:
            node, place = self._ids[uri]
            found = self._walk(node, place, path) or self._pointed_in(place.file, path)
            if found or urlsplit(uri).scheme:
                return found
        return self._pointed_in("" if uri in self._own else uri, path)

    def _pointed_in(self, file: str, path: tuple[str, ...]) -> tuple[JsonObject, FilePlace] | None:
        return self._walk(self._document(file), FilePlace(file, ()), path)

    def _walk(
        self, node: object, place: FilePlace, path: tuple[str, ...]
    ) -> tuple[JsonObject, FilePlace] | None:
        """The object at a path, which may lead through references."""
        for segment in path:
            for _ in range(_MAX_CHAIN):  # what refers to itself leads nowhere
                aside = (
                    isinstance(node, dict) and _step(node, segment) is None and self.find(unresolved(node))
                )
                if not aside:
                    break
                node, place = aside
            node, place = _step(node, segment), FilePlace(place.file, (*place.path, segment))
        return (node, place) if isinstance(node, dict) else None

    def _document(self, name: str) -> object:
        if name not in self._documents:
            self._documents[name] = None if urlsplit(name).scheme else self._load(name)
            self._name(self._documents[name], name)
        return self._documents[name]

    def _name(self, document: object, file: str) -> None:
        """Notes the names within a document, and makes its references those of the first one."""
        self._named[file] = file
        for node, base, path in _objects(document, file):
            place = FilePlace(file, path)
            if base != file or not path:
                self._ids.setdefault(base, (node, place))
            if isinstance(own := node.get("$self"), str) and not path:
                self._ids.setdefault(own, (node, place))
            for anchor in _anchors_of(node, base, file):
                self._anchors.setdefault(anchor, (node, place))
            if base:
                _make_absolute(node, base)


def _anchors_of(node: JsonObject, base: str, file: str) -> Iterator[str]:
    """The references that lead to an object by its anchors."""
    for key in _ANCHORS:
        if isinstance(anchor := node.get(key), str):
            yield f"{base}#{anchor}"
            yield f"{file}#{anchor}"
    if isinstance(old := node.get("$id"), str) and old.startswith("#"):
        yield base + old


def _make_absolute(node: JsonObject, base: str) -> None:
    for key in _REFERENCES:
        if isinstance(reference := node.get(key), str):
            node[key] = _relative(base, reference)


def _objects(document: object, base: str) -> Iterator[tuple[JsonObject, str, tuple[str, ...]]]:
    """Every object of a tree once, with the base of its references and its path."""
    pending: list[tuple[object, str, tuple[str, ...]]] = [(document, base, ())]
    seen: set[int] = set()
    while pending:
        node, base, path = pending.pop()
        if id(node) in seen:
            continue
        if isinstance(node, dict):
            seen.add(id(node))
            if isinstance(own := node.get("$id"), str) and not own.startswith("#"):
                base = urldefrag(_relative(base, own)).url
            yield node, base, path
            pending += [
                (value, base, (*path, key)) for key, value in node.items() if isinstance(value, (dict, list))
            ]
        elif isinstance(node, list):
            seen.add(id(node))
            pending += [
                (value, base, (*path, str(index)))
                for index, value in enumerate(node)
                if isinstance(value, (dict, list))
            ]


def _relative(base: str, reference: str) -> str:
    """A reference of a document as the first document would write it: `../` leads out of its folder."""
    try:
        if urlsplit(base).scheme or urlsplit(reference).scheme:
            return urljoin(base, reference)
    except ValueError:
        return reference
    path, hash_, fragment = reference.partition("#")
    file = posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(path))) if path else base
    return file + hash_ + fragment


def _step(node: object, segment: str) -> object:
    """The member of an object or a list, None where there is none."""
    if isinstance(node, dict):
        return node.get(segment)
    if isinstance(node, list) and len(segment) < _MOST_DIGITS and segment.isdecimal():
        position = int(segment)
        return node[position] if position < len(node) else None
    return None
