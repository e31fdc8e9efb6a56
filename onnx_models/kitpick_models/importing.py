"""Makes a model set of an encoder from elsewhere: a folder of sentence-transformers, or any exported encoder.

The graph and the tokenizer stay as they are. What their folder says of pooling, prefixes and length goes into
the manifest. The result takes its place only after it has run and answered as an encoder must.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from kitpick_foundation.decoding import decode_as
from kitpick_foundation.errors import in_brief
from kitpick_models.batching import Array, Row, feeds
from kitpick_models.encoders import Encoder
from kitpick_models.errors import ModelError, UnusableFolder, failures_as
from kitpick_models.locate import SET
from kitpick_models.manifest import (
    MODEL,
    READING_FORMAT,
    REFERENCE,
    TOKENIZER,
    EncoderReading,
    Manifest,
    Pooling,
    digest,
    write_manifest,
)
from kitpick_models.runtime import load_encoder
from kitpick_models.sentence_folder import TOKENIZER_CURE, SentenceFolder
from kitpick_models.session import Session
from kitpick_models.settings import RuntimeSettings
from kitpick_models.tokens import TokenIds, singles
from kitpick_models.verify import EncoderReference, pack, verify

_CROSS_ENCODER = "reranker-l6"
"""The cross-encoder of the set. It has neither classifier nor list ranker: both belong to one encoder."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_WHOLE, _TOKENS = ("sentence_embedding",), ("last_hidden_state", "token_embeddings")
"""Names of outputs, in exports, that hold vectors of texts and of tokens."""
_ALIKE = 0.9999
TEXTS = (
    "send an email to a customer", "Sends a message to one recipient.", "what is the weather tomorrow",
    "cancel the order 4711", "create an invoice", "schicke dem Kunden eine E-Mail", "supprimer le compte",
    "reserva una mesa para dos", "отправь письмо клиенту", "明日の天気を教えて", "取消这个订单",
    "엑셀 파일을 열어 줘",
)  # fmt: skip
"""Requests and descriptions that an import runs, and whose vectors a verification compares."""


class Import(msgspec.Struct, frozen=True, kw_only=True):
    """What is imported, and what its files do not say; None where they are to be believed."""

    source: Path
    out: Path
    """Folder for the model set."""
    name: str = ""
    file: str = ""
    """Which ONNX file, within the source."""
    pooling: Pooling | None = None
    max_tokens: int | None = None
    request_prefix: str | None = None
    document_prefix: str | None = None
    licence: str = ""
    languages: tuple[str, ...] = ()
    """Codes of the languages that it reads, or "multilingual"."""


class Imported(msgspec.Struct, frozen=True):
    """The model that was made."""

    identity: str
    dimensions: int
    max_tokens: int
    reading: EncoderReading
    notes: tuple[str, ...] = ()
    """What a person should look at."""


class _GraphAnswer(NamedTuple):
    """How a graph answers to a batch of one text."""

    output: str
    whole: bool
    """Whether it is the vector of the text."""
    dimensions: int


def import_encoder(wanted: Import) -> Imported:
    """Writes a model set with the encoder of a folder.

    Raises:
        UnusableFolder: a file is missing, or says what cannot be done here; or `out` is there already.
        ModelError: the model does not run, or not as an encoder must.
    """
    name = wanted.name or re.sub(r"[^A-Za-z0-9._-]+", "-", wanted.source.resolve().name).strip("-._")
    if not _NAME.fullmatch(name):
        raise UnusableFolder(wanted.source, f"no name for a model: {name!r}", "give one with --name")
    if wanted.out.exists():
        raise UnusableFolder(wanted.out, "is there already", "name another folder with --out, or remove it")
    folder = SentenceFolder(wanted.source, wanted.file)
    wanted.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=wanted.out.parent, prefix=f".{wanted.out.name}.") as place:
        made = Path(place) / wanted.out.name
        report = _written(wanted, folder, made / name)
        (made / SET).write_text(_set_file(name), encoding="utf-8")
        made.rename(wanted.out)
    return report


def _written(wanted: Import, folder: SentenceFolder, model: Path) -> Imported:
    """Writes the folder of the model, and runs it there."""
    graph, tokenizer = folder.graph_bytes(), folder.tokenizer_bytes()
    answer = _answer(folder, graph, tokenizer)
    reading = _reading(wanted, folder, answer, _padding(tokenizer, folder))
    manifest = _manifest(wanted, folder, model.name, answer, reading)
    manifest = replace(manifest, files={MODEL: digest(graph), TOKENIZER: digest(tokenizer)})
    model.mkdir(parents=True)
    (model / MODEL).write_bytes(graph)
    (model / TOKENIZER).write_bytes(tokenizer)
    identity = _checked(model, manifest)
    unused = () if wanted.request_prefix is not None or reading.request_prefix else folder.prefixes().unused
    return Imported(identity, answer.dimensions, manifest.max_tokens, reading, _notes(unused, reading))


def _reading(wanted: Import, folder: SentenceFolder, answer: _GraphAnswer, padding: int) -> EncoderReading:
    """How texts become vectors: as the import says, else as the folder does."""
    pooling = wanted.pooling or folder.pooling(whole=answer.whole)
    if pooling is None or (pooling == "none") != answer.whole:
        unsaid = _IN_ITS_GRAPH if answer.whole else _POOLING_UNSAID
        raise UnusableFolder(folder.folder, unsaid, "say --pooling, as its page has it")
    prefixes = folder.prefixes()
    return EncoderReading(
        pooling=pooling,
        output=answer.output,
        padding=padding,
        request_prefix=prefixes.requests if wanted.request_prefix is None else wanted.request_prefix,
        document_prefix=prefixes.documents if wanted.document_prefix is None else wanted.document_prefix,
    )


def _manifest(
    wanted: Import, folder: SentenceFolder, name: str, answer: _GraphAnswer, reading: EncoderReading
) -> Manifest:
    """The manifest, without the digests of files."""
    return Manifest(
        name=name,
        kind="encoder",
        version="imported",
        base_model=folder.origin,
        licence=wanted.licence or folder.licence() or "not stated by its folder",
        format=READING_FORMAT,
        files={},
        score_scale="cosine",
        max_tokens=folder.max_tokens(wanted.max_tokens),
        dimensions=answer.dimensions,
        languages=wanted.languages or folder.languages() or msgspec.UNSET,
        reading=reading,
    )


def _checked(model: Path, manifest: Manifest) -> str:
    """Runs the model, stores its answers beside it, and says who it is."""
    write_manifest(model, manifest)
    encoder = load_encoder(model)
    vectors = _vectors(encoder, model)
    _require_room(encoder, model)
    reference = msgspec.json.encode(EncoderReference(TEXTS, pack(vectors)))
    (model / REFERENCE).write_bytes(reference)
    whole = replace(manifest, files={**manifest.files, REFERENCE: digest(reference)})
    write_manifest(model, whole)
    if faults := verify(model).faults:
        cure = "take the file in full precision: scales of activations must not depend on the batch"
        raise UnusableFolder(model / MODEL, "; ".join(faults), cure)
    return whole.identity


def _vectors(encoder: Encoder, model: Path) -> Array:
    vectors = encoder.encode(TEXTS)
    if (vectors @ vectors[0] > _ALIKE).all():
        raise UnusableFolder(
            model / MODEL, "gives every text the same vector", "see --pooling, or export it again"
        )
    return vectors


def _require_room(encoder: Encoder, model: Path) -> None:
    """Runs a text of as many tokens as are read: a graph with fewer places would fail some day."""
    tokens, most = encoder.tokens, encoder.manifest.max_tokens
    ids = np.full(most, tokens.size - 1, np.int64)
    ids[0], ids[-1] = tokens.start, tokens.separator
    told = f"cannot read {most} tokens ({{}})".format
    with failures_as(lambda error: UnusableFolder(model / MODEL, told(in_brief(error)), "say --max-tokens")):
        encoder.run([Row(ids, np.zeros_like(ids))], most)


def _answer(folder: SentenceFolder, graph: bytes, tokenizer: bytes) -> _GraphAnswer:
    """Runs one text, and looks which output is the vector of a text, or of its tokens."""
    tokens = _tokens(folder, tokenizer)
    ids = Row(*singles(tokens, TEXTS[:1], 16)[0])
    given = dict(zip(_INPUTS, feeds([ids], len(ids.ids)), strict=True))
    told = "does not run ({})".format
    with failures_as(lambda error: UnusableFolder(folder.graph, told(in_brief(error)), "export it again")):
        session = Session(graph, "fp32", RuntimeSettings())
        if others := sorted({*session.inputs}.difference(_INPUTS)):
            cure = "only encoders run here: name one"
            raise UnusableFolder(folder.graph, f"wants {', '.join(others)}", cure)
        answers = session.run_all([given[name] for name in session.inputs])
    return _chosen(dict(zip(session.outputs, answers, strict=True)), len(ids.ids), folder)


def _chosen(found: dict[str, Array], length: int, folder: SentenceFolder) -> _GraphAnswer:
    whole = [name for name, value in found.items() if value.ndim == 2 and len(value) == 1]
    each = [name for name, value in found.items() if value.ndim == 3 and value.shape[:2] == (1, length)]
    named = [name for name in _WHOLE if name in whole] + [name for name in _TOKENS if name in each]
    if not (candidates := named or each or whole):
        shapes = ", ".join(f"{name} {value.shape}" for name, value in found.items())
        cure = "export it for feature-extraction"
        raise UnusableFolder(folder.graph, f"answers {shapes}: neither vectors of texts nor of tokens", cure)
    output = candidates[0]
    return _GraphAnswer(output, output in whole, found[output].shape[-1])


def _tokens(folder: SentenceFolder, tokenizer: bytes) -> TokenIds:
    place = folder.folder / TOKENIZER
    try:
        return TokenIds(tokenizer, 0, own_ends=True)
    except ModelError as error:
        raise UnusableFolder(place, str(error), "name an encoder of such a kind") from error
    except Exception as error:  # whatever tokenizers raises
        told = f"cannot be loaded ({in_brief(error)})"
        raise UnusableFolder(place, told, TOKENIZER_CURE) from error


class _Padding(msgspec.Struct):
    pad_id: int = 0


class _TokenizerFile(msgspec.Struct):
    padding: _Padding | None = None


def _padding(tokenizer: bytes, folder: SentenceFolder) -> int:
    """The id that fills a batch: bodies count places by it."""
    own = decode_as(tokenizer, _TokenizerFile).padding
    stated = folder.padding()
    return stated if stated is not None else own.pad_id if own is not None else 0


def _notes(unused: tuple[str, ...], reading: EncoderReading) -> tuple[str, ...]:
    notes = []
    if unused:
        notes.append(
            f"the model has prompts for {', '.join(unused)}, and none of its own for requests: if its page "
            "names one, say --request-prefix and --document-prefix"
        )
    elif not (reading.request_prefix or reading.document_prefix):
        notes.append("nothing is put before texts; if the model's page says otherwise, say --request-prefix")
    return tuple(notes)


def _set_file(name: str) -> str:
    return (
        f'# Made by `kitpick models import`.\nname = "{name}"\nencoder = "{name}"\n'
        f'cross_encoder = "{_CROSS_ENCODER}"\nquery_kind = "none"\nlist_ranker = "none"\n'
    )


_IN_ITS_GRAPH = "its graph answers with vectors of texts, which need no pooling"
_POOLING_UNSAID = "no 1_Pooling/config.json says how the vectors of tokens become one"
