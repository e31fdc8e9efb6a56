"""Opens a source from its specification: `toolbench:apis.jsonl`, `botocore:s3,ec2`, or a path or URL."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import cast

from kitpick_engines.text import has_utf8, storable
from kitpick_ingest.errors import SourceError, UnknownSource
from kitpick_ingest.fetching import RemoteFileSource
from kitpick_ingest.labels import LabelledSource, Labels
from kitpick_ingest.readers import READERS, Target
from kitpick_ingest.sample import READABLE_SUFFIXES, is_there, samples, user_path
from kitpick_ingest.source import Source
from kitpick_ingest.source_names import default_name
from kitpick_ingest.sources.mcp_endpoint import LiveSettings
from kitpick_ingest.urls import is_url, shown_url, split_url

Given = Source | str | os.PathLike[str] | Sequence[object]
"""What `as_source` takes for a source."""


def as_source(given: Given, name: str | None = None) -> Source:
    """The source that a program names: itself, a specification, a path, or a list of its own tools.

    Raises:
        UnknownSource: it is nothing of these, or a source whose own name is another one.
        MissingExtra: the kind needs a package that is not installed.
    """
    if isinstance(given, (str, os.PathLike)):
        return open_source(os.fspath(given), name=name)
    if hasattr(given, "read") and hasattr(given, "name"):
        source = cast("Source", given)
        if name is not None and name != source.name:
            raise UnknownSource(source.name, f"is not {name!r}", "give the source itself that name")
        return source
    if isinstance(given, (list, tuple)):
        from kitpick_ingest.sources.python_tools import PythonTools

        return PythonTools(given, name or "")
    raise UnknownSource(
        f"a {type(given).__name__}",
        "is no source",
        "give a specification (functions:FILE, openapi:FILE, mcp:URL), or a list of declarations, "
        "functions or tools of a framework",
    )


def open_source(
    spec: str,
    *,
    name: str | None = None,
    category: str | None = None,
    tenant: str | None = None,
    allowed: tuple[str, ...] = (),
    live: LiveSettings | None = None,
) -> Source:
    """Opens the source of a specification. For a path without a kind, the beginning is read.

    Args:
        spec: `KIND:TARGET`, or a path or URL whose kind is found out: a URL of a JSON or YAML file by its
            content once it is fetched, any other URL is a live MCP server.
        name: owner of the documents and first part of their ids; by default taken from the target.
        category: category of every document, instead of what the source says.
        tenant: tenant of every document.
        allowed: principals who may see the documents; empty means everybody.
        live: limits, headers and environment for what is reached over a network or started.

    Raises:
        UnknownSource: no reader understands the specification; the message names what was tried.
        MissingExtra: the kind needs a package that is not installed.
    """
    if not spec or "\0" in spec:
        raise UnknownSource("source", "the specification is empty or contains a NUL character", _known())
    for text in (name, category, tenant, *allowed):
        if text and not has_utf8(text):
            raise UnknownSource(repr(text), "is no text in UTF-8", "give another name, tenant or principal")
    source = _open(spec, name, live or LiveSettings())
    labels = Labels(category or "", tenant or "", allowed)
    return source if labels == Labels() else LabelledSource(source, labels)


def _open(spec: str, name: str | None, live: LiveSettings) -> Source:
    kind, text = _kind_and_target(spec)
    name = name or storable(default_name(kind, text))
    at_url = READERS[kind].at_url if kind else "fetched"
    if at_url == "refused" and is_url(text):
        raise UnknownSource(
            shown_url(text), f"{kind} are read from a folder", "fetch it, and name the folder"
        )
    if at_url == "fetched" and is_url(text):
        if "@" in split_url(text).netloc:
            cure = "leave them out, and give them with --header Authorization=VARIABLE"
            raise UnknownSource(shown_url(text), "holds a user or a password", cure)

        def open_file(file: Path) -> Source:
            return READERS[kind or detect_kind(str(file))].open(Target(str(file), name, live))

        return RemoteFileSource(text, name, open_file, live)
    return READERS[kind].open(Target(text, name, live))


def _kind_and_target(spec: str) -> tuple[str, str]:
    """Kind and target. The kind is empty for a file that has to be downloaded first."""
    kind, colon, target = spec.partition(":")
    if kind in READERS and (colon or not is_there(Path(spec))):
        return kind, target
    if is_url(spec):
        suffix = PurePosixPath(split_url(spec).path).suffix.lower()
        return ("" if suffix in READABLE_SUFFIXES else "mcp"), spec
    return detect_kind(spec), spec


def detect_kind(spec: str) -> str:
    """Kind of a path by its content.

    Raises:
        UnknownSource: no reader recognises it.
    """
    problems: list[str] = []
    path = user_path(spec)
    try:
        for sample in samples(path):
            for kind, reader in READERS.items():
                if reader.recognises(sample):
                    return kind
            problems.append(sample.problem)
    except SourceError as error:
        if is_there(path) and path.is_file():
            raise UnknownSource(spec, error.what, error.cure) from error
        raise UnknownSource(spec, f"names no known kind, and as a path {error.what}", _known()) from error
    if problems[0]:
        raise UnknownSource(spec, problems[0], "mend the file at this place")
    raise UnknownSource(spec, f"looks like none of {', '.join(READERS)}", _known())


def _known() -> str:
    return "write the kind before it: " + ", ".join(reader.form for reader in READERS.values())
