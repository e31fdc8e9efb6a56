"""Converts documents to the fields of an index, and back."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_engines.contract import Candidate, IndexedDocument, Vector
from kitpick_engines.document import ApiDocument, Effect
from kitpick_engines.errors import CorruptStore, InvalidDocument
from kitpick_engines.lexical import FIELDS, LexicalWeights, TermCounts, Terms, field_lengths, indexed_fields
from kitpick_engines.remote.server import Json
from kitpick_engines.text import rerank_text
from kitpick_foundation.decoding import convert_to

MAX_KEYWORD_BYTES = 32_766
"""Lucene's limit of a term, for fields that are compared whole."""
DOCUMENT_FIELDS = ApiDocument.__struct_fields__
CANDIDATE_FIELDS = (
    *("id", "category", "tool", "api", "text", "vector_f32", "deprecated", "effect", "needs", "gives"),
)
_ALWAYS_THERE = frozenset(CANDIDATE_FIELDS) - {"needs", "gives"}

_USUAL_LENGTHS = np.array([4.0, 4.0, 2.0, 25.0, 25.0, 10.0])
"""Words by field that count as average where candidates are chosen; ranking takes the true ones."""
_B = 0.75
_STEPS = 4
"""Repetitions in `words` for one occurrence of weight 1 in a field of usual length."""
_MOST_REPEATED = 40
_DECIMALS = 8
"""Digits of a vector's components in the index of the server, which only chooses candidates."""


def physical_id(document_id: str, session: int) -> str:
    """Name of the version of a document that a session wrote."""
    return f"{hashlib.blake2b(document_id.encode(), digest_size=16).hexdigest()}.{session}"


def check_keywords(document: ApiDocument) -> None:
    """Refuses keywords that are too long for the index.

    Raises:
        InvalidDocument: a name is too long.
    """
    names = ("id", "source", "category", "tool_key", "tenant")
    compared = [
        *((name, getattr(document, name)) for name in names),
        *(("allowed", a) for a in document.allowed),
    ]
    for name, value in compared:
        if len(value.encode()) > MAX_KEYWORD_BYTES:
            raise InvalidDocument(document.id, f"{name} has more than {MAX_KEYWORD_BYTES:,} bytes")


def sources_of(batch: Sequence[IndexedDocument], terms: Terms, session: int) -> list[Json]:
    """The source of each document, as the given session writes it."""
    texts = [indexed_fields(item.document) for item in batch]
    counts = terms.of_documents(texts)
    lengths = [np.frombuffer(field_lengths(fields), "<u2") for fields in texts]
    return [
        _source(item, of_item, length, session)
        for item, of_item, length in zip(batch, counts, lengths, strict=True)
    ]


def _source(item: IndexedDocument, counts: TermCounts, lengths: NDArray[np.uint16], session: int) -> Json:
    document = item.document
    plain: Json = msgspec.to_builtins(document)
    return (
        plain
        | {
            "tool_key": document.tool_key,
            "deprecated": document.deprecated,
            "effect": document.effect.value,
            "tenant": document.tenant,
            "public": not document.allowed,
            "content_hash": document.content_hash,
            "text": rerank_text(document),
            "counts": counts,
            "lengths": dict(zip(FIELDS, lengths.tolist(), strict=True)),
            "vector_f32": base64.b64encode(np.asarray(item.vector, "<f4").tobytes()).decode(),
            "born": session,
        }
        | derived(counts, lengths, item.vector)
    )


def derived(counts: TermCounts, lengths: NDArray[np.uint16], vector: Vector) -> Json:
    """The fields that are left out of the stored source: they are made from the others."""
    return {
        "words": weighted_words(counts, lengths),
        "vector": np.round(vector.astype(np.float64), _DECIMALS).tolist(),
    }


def restored(source: Json) -> Json:
    """A stored source with the fields that are left out of it, unless somebody else wrote it."""
    if not source.keys() >= {"counts", "lengths", "vector_f32"}:
        return source
    lengths = np.array([source["lengths"][name] for name in FIELDS], np.uint16)
    return source | derived(source["counts"], lengths, vector_of(source))


def weighted_words(counts: TermCounts, lengths: NDArray[np.uint16]) -> str:
    """Every term, repeated by its weight (Robertson, Zaragoza & Taylor 2004; usual lengths as average)."""
    weights = np.array(msgspec.structs.astuple(LexicalWeights()))
    scale = _STEPS * weights / (1 - _B + _B * lengths / _USUAL_LENGTHS)
    repeated = []
    for term, by_field in counts.items():
        times = round(float(scale @ np.array(by_field)))
        repeated += [term] * min(max(times, 1), _MOST_REPEATED)
    return " ".join(repeated)


def vector_of(source: Json) -> Vector:
    """The vector as it was written: float32 (d,)."""
    return np.frombuffer(base64.b64decode(source["vector_f32"]), "<f4").astype(np.float32)


def document_of(source: Json) -> ApiDocument:
    """The document as it was written.

    Raises:
        CorruptStore: somebody else wrote into the index.
    """
    fields = {name: source[name] for name in DOCUMENT_FIELDS if name in source}
    try:
        return convert_to(fields, ApiDocument)
    except msgspec.ValidationError as error:
        raise CorruptStore(f"document {str(source.get('id'))[:200]!r} cannot be read: {error}") from error


def is_whole(source: Json) -> bool:
    """Whether a candidate can be made of it: not of what somebody else wrote, until the next sync."""
    return source.keys() >= _ALWAYS_THERE


def candidate_of(source: Json) -> Candidate:
    """A candidate without places."""
    return Candidate(
        id=source["id"],
        category=source["category"],
        tool=source["tool"],
        api=source["api"],
        text=source["text"],
        vector=vector_of(source),
        deprecated=source["deprecated"],
        effect=Effect(source["effect"]),
        needs=tuple(source.get("needs", ())),
        gives=tuple(source.get("gives", ())),
    )
