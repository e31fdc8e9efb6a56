"""What a model is: its origin, training data, the digest of every file; and its card, the same in prose."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from kitpick_foundation.decoding import UNDECODABLE, decode_as
from kitpick_models.errors import CorruptModel, UnsupportedModel

FORMAT = 3
"""Latest version of the manifest's form. A reader refuses newer ones rather than guess."""
READING_FORMAT = 2
"""Version of a manifest that says how its encoder is read."""
PART_FORMAT = 3
"""Version of a manifest whose graph is a part of another model's; all others are of version 1."""

MULTILINGUAL = "multilingual"
"""Stands for every language, as pages of models have it."""
MANIFEST = "manifest.json"
MODEL = "model.onnx"
TOKENIZER = "tokenizer.json"
HEAD = "head.npz"
REFERENCE = "reference.json"
CARD = "CARD.md"

SHIPPED = (Path(__file__).resolve().parent / "weights", Path(__file__).resolve().parents[1] / "weights")
"""Where the shipped models are: inside an installed package, or beside it in a checkout."""

Kind = Literal["encoder", "cross_encoder", "query_kind", "list_ranker"]
_COMPUTING: dict[Kind, tuple[str, ...]] = {"query_kind": (HEAD,), "list_ranker": (MODEL, HEAD)}
"""Files that decide what a model answers, where it is not the graph alone."""
Storage = Literal["fp32", "fp16", "weight_int8", "static_int8"]


class TrainingData(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One source of training examples."""

    name: str
    licence: str
    examples: int = 0


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One measured value and how to measure it again."""

    benchmark: str
    figure: str
    value: float
    date: str
    command: str


Pooling = Literal["none", "cls", "mean", "max", "last"]
"""How the vectors of a text's tokens become one; `none`: the graph answers with one."""


class EncoderReading(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How an encoder from elsewhere is read: what kitpick's own have in their graph, or do not need.

    `output` is the name of the graph's output, `padding` the id of the token that fills a batch. The prefixes
    are put before requests and before descriptions of APIs.
    """

    pooling: Pooling
    output: str
    padding: int = 0
    request_prefix: str = ""
    document_prefix: str = ""


class GraphPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the graph of a model is that has no file of its own: all that leads to a value of another's.

    `model` is the name of the other one, `output` the name of the value in its graph.
    """

    model: Annotated[str, msgspec.Meta(pattern=r"^\w[\w.-]*$")]
    output: str


class Manifest(msgspec.Struct, frozen=True, dict=True):
    """The manifest of one model folder.

    `files` maps a file name to its SHA-256. `seen` holds `hash_tool` of every tool trained on.
    A cross-encoder's probability is sigmoid(logit / `temperature`), and `thresholds` are on that scale.
    `encoder` is the identity of the encoder whose vectors a query-kind head reads, `features` names what it
    reads instead of a vector. Of a list ranker, `encoder` and `cross_encoder` made the features it learned
    from.
    `providers` are those it was measured on. `languages` are those that an imported encoder says it reads, by
    their codes of ISO 639-1; "multilingual" stands for all. `reading` is set for an imported encoder alone,
    `part` for a model whose graph is a part of another's: the digest in `files` is that of the other's file.
    """

    name: str
    kind: Kind
    version: str
    base_model: str
    licence: str
    format: int = 1
    files: dict[str, str] = {}
    storage: Storage = "fp32"
    training: tuple[TrainingData, ...] = ()
    seen: tuple[str, ...] = ()
    score_scale: Literal["logit", "cosine", "probability"] = "logit"
    temperature: Annotated[float, msgspec.Meta(gt=0, le=1e6)] = 1.0
    thresholds: dict[str, float] = {}
    template: int = 1
    max_tokens: Annotated[int, msgspec.Meta(ge=8, le=1_000_000)] = 256
    dimensions: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 0
    encoder: str = ""
    cross_encoder: str = ""
    features: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    providers: tuple[str, ...] = ("cpu",)
    languages: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    reading: EncoderReading | msgspec.UnsetType = msgspec.UNSET
    part: GraphPart | msgspec.UnsetType = msgspec.UNSET

    def reads(self, language: str) -> bool:
        """Whether it says that it reads a language, named by its code."""
        said = () if self.languages is msgspec.UNSET else self.languages
        return language in said or MULTILINGUAL in said

    @property
    def _seen(self) -> frozenset[str]:
        """The hashes as a set, which is kept beside the fields."""
        kept: dict[str, frozenset[str]] = self.__dict__
        return kept.get("seen_set") or kept.setdefault("seen_set", frozenset(self.seen))

    def is_seen(self, tool_key: str) -> bool:
        """Whether this model was trained on the tool."""
        return hash_tool(tool_key) in self._seen

    @property
    def identity(self) -> str:
        """Name and the first 12 hex digits of the digest of what computes: `encoder-pair@3f2a…`."""
        digests = [self.files[name] for name in _COMPUTING.get(self.kind, (MODEL,))]
        if self.reading is not msgspec.UNSET:
            said = msgspec.json.encode(self.reading).decode()
            digests += [self.files[TOKENIZER], str(self.max_tokens), said]
        if self.part is not msgspec.UNSET:
            digests.append(self.part.output)
        whole = digests[0] if len(digests) == 1 else digest("".join(digests).encode())
        return f"{self.name}@{whole[:12]}"


class _Format(msgspec.Struct):
    format: int = 0


def hash_tool(tool_key: str) -> str:
    """48-bit digest of a tool key without regard to case: tells seen tools apart without naming them."""
    return hashlib.sha256(tool_key.casefold().encode("utf-8", "replace")).hexdigest()[:12]


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a model folder.

    Raises:
        CorruptModel: no manifest, or one that cannot be read.
        UnsupportedModel: a newer format than `FORMAT`.
    """
    path = folder / MANIFEST
    try:
        data = path.read_bytes()
        found = decode_as(data, _Format).format
        if found > FORMAT:
            raise UnsupportedModel(f"{path}: format {found}, this kitpick reads up to {FORMAT}: upgrade it")
        return decode_as(data, Manifest)
    except OSError as error:
        raise CorruptModel(path, f"cannot be read ({error.strerror})") from error
    except UNDECODABLE as error:
        raise CorruptModel(path, f"not a manifest: {error}") from error


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Writes `manifest.json`, indented: it is meant to be read. The card beside it says the same."""
    (folder / MANIFEST).write_bytes(encode_manifest(manifest))
    (folder / CARD).write_text(card(manifest), encoding="utf-8")


def write_folder(folder: Path, manifest: Manifest, files: Mapping[str, bytes]) -> Manifest:
    """Writes the files of a model, its card and its manifest, which is returned with their digests.

    With a graph among the files the model is no part of another one, even if it was made from a part.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if MODEL in files and manifest.part is not msgspec.UNSET:
        number = 1 if manifest.reading is msgspec.UNSET else READING_FORMAT
        manifest = msgspec.structs.replace(manifest, part=msgspec.UNSET, format=number)
    manifest = msgspec.structs.replace(manifest, files={name: digest(data) for name, data in files.items()})
    for name, data in files.items():
        (folder / name).write_bytes(data)
    write_manifest(folder, manifest)
    return manifest


def encode_manifest(manifest: Manifest) -> bytes:
    """The content of `manifest.json`, with a line break at the end."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def read_file(folder: Path, manifest: Manifest, name: str) -> bytes:
    """Content of one file of the model, after comparing its digest.

    Raises:
        CorruptModel: missing, unlisted, or different from what the manifest names.
    """
    path = place_of(folder, manifest, name)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CorruptModel(path, f"cannot be read ({error.strerror}){_shared(manifest, name)}") from error
    expected = manifest.files.get(name)
    if digest(data) != expected:
        differs = f"SHA-256 differs from the manifest's {str(expected)[:12]}…"
        raise CorruptModel(path, differs + _shared(manifest, name))
    return data


def place_of(folder: Path, manifest: Manifest, name: str) -> Path:
    """Path of a file of a model.

    Its tokenizer may be the one that all models beside it share, its graph a part of that of one of them.
    """
    own = folder / name
    others = {TOKENIZER: TOKENIZER}
    if manifest.part is not msgspec.UNSET:
        others[MODEL] = f"{manifest.part.model}/{MODEL}"
    if name not in others or own.exists():
        return own
    places = (place / others[name] for place in (folder.parent, *SHIPPED))
    return next((place for place in places if place.is_file()), own)


def _shared(manifest: Manifest, name: str) -> str:
    """What a fault of a file means for a model that has a part of it."""
    if name != MODEL or manifest.part is msgspec.UNSET:
        return ""
    return f"; {manifest.name} is a part of the {manifest.part.model} that it was made with"


def digest(data: bytes) -> str:
    """SHA-256 as hex."""
    return hashlib.sha256(data).hexdigest()


_USES = {
    "encoder": "Turns requests and API descriptions into unit vectors; similar meaning, large inner product.",
    "cross_encoder": "Reads a request and one API description together and puts out one relevance logit.",
    "list_ranker": "Says of each candidate of a list how likely it serves the request, and whether any does.",
    "query_kind": "Says how likely a request needs more than one tool.",
}


def card(manifest: Manifest) -> str:
    """Markdown: use, origin, training data, figures, limits."""
    sections = [
        f"# {manifest.name} {manifest.version}",
        _USES[manifest.kind],
        "\n".join(_facts(manifest)),
        _table(
            "Trained on",
            ("data", "licence", "examples"),
            [(t.name, t.licence, f"{t.examples:,}" if t.examples else "") for t in manifest.training],
        ),
        _table(
            "Measured",
            ("benchmark", "figure", "value", "date", "command"),
            [(f.benchmark, f.figure, f"{f.value:g}", f.date, f"`{f.command}`") for f in manifest.figures],
        ),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _facts(manifest: Manifest) -> list[str]:
    facts = [f"- base model: {manifest.base_model}", f"- licence: {manifest.licence}"]
    if manifest.kind in {"encoder", "cross_encoder"}:
        facts += [f"- weights stored as {manifest.storage}"] if manifest.reading is msgspec.UNSET else []
        facts.append(f"- reads {manifest.max_tokens} tokens at most")
    if manifest.dimensions and not manifest.features:
        facts.append(f"- {manifest.dimensions} dimensions")
    if manifest.features:
        facts.append(f"- reads of a list of candidates: {', '.join(manifest.features)}")
    if manifest.reading is not msgspec.UNSET:
        facts += _reading_facts(manifest.reading)
    if manifest.part is not msgspec.UNSET:
        facts.append(f"- its graph: what leads to `{manifest.part.output}` in that of {manifest.part.model}")
    if manifest.encoder:
        facts.append(f"- reads vectors of {manifest.encoder}")
    if manifest.cross_encoder:
        facts.append(f"- reads scores of {manifest.cross_encoder}")
    if manifest.seen:
        facts.append(f"- trained on {len(manifest.seen):,} tools")
    return facts


def _reading_facts(reading: EncoderReading) -> list[str]:
    pooled = "by the graph itself" if reading.pooling == "none" else f"by {reading.pooling}"
    facts = [f"- imported: output `{reading.output}`, pooled {pooled}, made unit length"]
    prefixes = {"requests": reading.request_prefix, "descriptions": reading.document_prefix}
    return facts + [f"- before {of}: `{prefix}`" for of, prefix in prefixes.items() if prefix]


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return f"## {title}\n\n" + "\n".join(lines)
