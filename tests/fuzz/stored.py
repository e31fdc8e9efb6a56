"""Readers of stored files: of models, whose digests match, and of catalogs, which something else has damaged.

Each puts the given bytes in place of one file of something sound, and uses the whole.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from tokenizers import Tokenizer
from tokenizers.models import WordPiece

from kitpick_engines.contract import Filter, IndexedDocument, IndexSchema, SearchRequest
from kitpick_engines.document import ApiDocument
from kitpick_engines.sqlite import SqliteEngine
from kitpick_models.encoders import CrossEncoder
from kitpick_models.heads import ListRanker, QueryKindClassifier
from kitpick_models.locate import find_model
from kitpick_models.manifest import HEAD, MODEL, TOKENIZER, digest, read_manifest
from kitpick_models.settings import RuntimeSettings
from kitpick_rescorers.intents.store import Intent, IntentStore
from kitpick_rescorers.intents.votes import near_samples, vote

Reader = Callable[[bytes], object]
DIMENSIONS = 4
_VECTOR = np.full(DIMENSIONS, 0.5, np.float32)


def model_reader(what: str) -> Reader:
    """The reader of a file of a model: `tokenizer`, `kind`, `head` or `trees`."""
    name, file = {
        "tokenizer": ("reranker-l6", TOKENIZER),
        "kind": ("query-kind", HEAD),
        "head": ("list-ranker", HEAD),
        "trees": ("list-ranker", MODEL),
    }[what]
    sound = find_model(name)
    manifest = read_manifest(sound)
    kinds: dict[str, Callable[[Path, object], object]] = {
        "tokenizer": lambda folder, found: CrossEncoder(folder, found, RuntimeSettings()).score("a", ["b"]),
        "kind": lambda folder, found: QueryKindClassifier(folder, found).probability_multi(
            np.ones(384, np.float32)
        ),
        "head": lambda folder, found: ListRanker(folder, found, RuntimeSettings()).misfit("", ""),
        "trees": lambda folder, found: ListRanker(folder, found, RuntimeSettings()).misfit("", ""),
    }

    def given(data: bytes) -> object:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            for each in manifest.files:
                if each != file:
                    (folder / each).symlink_to(sound / each)
            (folder / file).write_bytes(data)
            return kinds[what](folder, replace(manifest, files={**manifest.files, file: digest(data)}))

    return given


def sound_model_file(what: str) -> bytes:
    """A small file that is sound."""
    if what == "tokenizer":
        words = {word: number for number, word in enumerate(("[UNK]", "[CLS]", "[SEP]", "a", "b", "##c"))}
        return Tokenizer(WordPiece(words, unk_token="[UNK]")).to_str().encode()
    if what == "trees":
        return (find_model("list-ranker") / MODEL).read_bytes()
    if what == "head":
        return (find_model("list-ranker") / HEAD).read_bytes()
    file = io.BytesIO()
    np.savez(file, weight_0=np.ones((384, 1), np.float32), bias_0=np.zeros(1, np.float32))
    return file.getvalue()


def catalog_reader(what: str) -> Reader:
    """The reader of a file of a catalog: `database`, `vectors` or `intents`."""
    sound = sound_files()

    def given(data: bytes) -> object:
        with tempfile.TemporaryDirectory() as folder:
            for name, content in {**sound, what: data}.items():
                path = Path(folder) / _PLACES[name]
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(content)
            if what == "intents":
                return _votes(Path(folder) / _PLACES["intents"])
            engine = SqliteEngine(Path(folder) / "c.db")
            try:
                return _used(engine)
            finally:
                engine.close()

    return given


_PLACES = {"database": "c.db", "vectors": "c.db.vectors/1-1.f32", "intents": "i.db"}


def sound_files() -> dict[str, bytes]:
    """The files of a small catalog."""
    with tempfile.TemporaryDirectory() as folder:
        engine = SqliteEngine(Path(folder) / "c.db")
        with engine.writing(engine.ensure(IndexSchema("m", DIMENSIONS, 1))) as writer:
            writer.write([IndexedDocument(_document(n), _VECTOR) for n in range(6)])
        engine.close()
        samples = [Intent(f"rain {n}", f"s/t/a{n}") for n in range(3)]
        IntentStore(Path(folder) / _PLACES["intents"]).put(samples, [_VECTOR] * 3, "m")
        return {name: (Path(folder) / place).read_bytes() for name, place in _PLACES.items()}


def _votes(path: Path) -> object:
    """Reads samples and lets them vote."""
    store = IntentStore(path)
    store.stale("m", 5)
    intents = store.of_model("m")
    return vote(intents, near_samples(intents, _VECTOR))


def _document(number: int) -> ApiDocument:
    words = f"weather of city {number}"
    return ApiDocument(
        f"s/t/a{number}", source="s", category="c", tool="t", api=f"a{number}", description=words
    )


def _used(engine: SqliteEngine) -> None:
    """Searches, reads everything, counts what is damaged, and writes."""
    live = engine.live()
    if live is None:
        return
    index, schema = live
    if schema.dimensions == DIMENSIONS:
        engine.search(SearchRequest("weather", _VECTOR, 5, Filter()))
    list(engine.documents(index))
    dict(engine.hashes(index))
    engine.damaged()
    with engine.writing(index) as writer:
        writer.write([IndexedDocument(_document(7), _VECTOR)])
