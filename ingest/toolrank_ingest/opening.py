"""From what a person writes to a source: `toolbench:apis.jsonl`, `botocore:s3,ec2`, or just a path."""

from __future__ import annotations

from pathlib import Path

from toolrank_ingest.errors import SourceError, UnknownSource
from toolrank_ingest.labelled import LabelledSource, Labels
from toolrank_ingest.naming import default_name
from toolrank_ingest.readers import READERS, Target
from toolrank_ingest.sample import look_at
from toolrank_ingest.source import Source


def open_source(
    spec: str,
    *,
    name: str | None = None,
    category: str | None = None,
    tenant: str | None = None,
    allowed: tuple[str, ...] = (),
) -> Source:
    """Opens the source that a specification names; nothing is read before `read` is called.

    Args:
        spec: `KIND:TARGET`, or a path or URL whose kind is found out by looking at it.
        name: owner of the documents and first part of their ids; by default taken from the target.
        category: category of every document, instead of what the source says.
        tenant: tenant of every document.
        allowed: principals who may see the documents; empty means everybody.

    Raises:
        UnknownSource: no reader understands the specification; the message names what was tried.
        SourceError: the path does not exist or cannot be read.
        MissingExtra: the kind needs a package that is not installed.
    """
    kind, target = _kind_and_target(spec)
    source = READERS[kind].open(Target(target, name or default_name(kind, target)))
    labels = Labels(category or "", tenant or "", allowed)
    return source if labels == Labels() else LabelledSource(source, labels)


def _kind_and_target(spec: str) -> tuple[str, str]:
    kind, colon, target = spec.partition(":")
    if colon and kind in READERS:
        return kind, target
    if spec in READERS:
        return spec, ""
    return detect_kind(spec), spec


def detect_kind(spec: str) -> str:
    """Kind of a path by its content.

    Raises:
        UnknownSource: no reader recognises it.
    """
    path = Path(spec).expanduser()
    try:
        sample = look_at(path)
    except SourceError as error:
        raise UnknownSource(spec, f"names no known kind, and as a path {error.what}", _known()) from error
    for kind, reader in READERS.items():
        if reader.recognises(sample):
            return kind
    raise UnknownSource(spec, f"looks like none of {', '.join(READERS)}", _known())


def _known() -> str:
    return "write the kind before it: " + ", ".join(reader.form for reader in READERS.values())
