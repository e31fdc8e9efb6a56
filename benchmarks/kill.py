"""`kill -9` at random moments of a sync: does the next run end in the state of one that was never disturbed?

A real catalog (operations of AWS services, shipped encoder) holds an older state, so that the sync adds,
changes and deletes, beside a second source that must stay as it is. Half of the kills fall uniformly into the
whole duration, half into a random one of its sections, so that the short ones are hit as well. After each
kill the catalog must be as before the sync or as after it; after one more run, equal to the undisturbed one
in every id, hash, vector and the schema. The same again for syncs that also change the model of the catalog.

`--runs N` kills of a sync, `--rebuild-runs N` of one that changes the model, `--seed N`. `--hashed` takes
digests of texts for their vectors: no process loads a model, and the same writes are cut off.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_engines.contract import IndexSchema
from kitpick_engines.document import ApiDocument
from kitpick_engines.sqlite import SqliteEngine
from kitpick_ingest.embedder import Embedder, EmbeddingCache
from kitpick_ingest.progress import Advance, NullProgress, Progress
from kitpick_ingest.source import DeadLetter, Source
from kitpick_ingest.sources.botocore_models import BotocoreSource
from kitpick_ingest.sync import SyncOptions, SyncReport, sync
from kitpick_models.runtime import load_encoder
from kitpick_models.settings import RuntimeSettings

BEFORE = ("account", "iot-data", "sqs")
NOW = ("iot-data", "sqs", "sts")
OTHER = ("cur",)
BATCH = 4
"""Small, so that even this small catalog takes many steps."""
ONE_THREAD = RuntimeSettings(threads=1)
"""Two syncs never run at once here, but the machine may be shared."""
END = "end"
"""What the process prints last: a kill that comes after it does not count."""
State = tuple[IndexSchema | None, dict[str, tuple[str, bytes]]]


class OlderSource:
    """What `botocore` might have been once: other services, and every third description different."""

    name = "botocore"

    def read(self) -> Iterator[ApiDocument | DeadLetter]:
        """The documents of that time."""
        for number, item in enumerate(BotocoreSource(BEFORE).read()):
            if isinstance(item, ApiDocument) and number % 3 == 0:
                yield msgspec.structs.replace(item, description=f"Formerly: {item.description}")
            else:
                yield item


class Hashed:
    """Digests of texts as their vectors: at once, and different for different texts."""

    identity = "hashed"
    dimensions = 32

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (n, d)."""
        digests = b"".join(blake2b(text.encode(), digest_size=self.dimensions).digest() for text in texts)
        vectors = np.frombuffer(digests, np.uint8).reshape(-1, self.dimensions).astype(np.float32) - 127.5
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


class OtherModel:
    """Another vector space: that of an encoder, with its axes turned."""

    def __init__(self, encoder: Embedder) -> None:
        self.identity = f"turned-{encoder.identity}"
        self.dimensions = encoder.dimensions
        self._encoder = encoder

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (n, d)."""
        return np.roll(self._encoder.encode(texts), 1, axis=1)


class Marks(NullProgress):
    """Prints a line where a section of the sync begins."""

    @contextmanager
    def phase(self, name: str, total: int | None) -> Iterator[Advance]:
        """Prints its name, and when it ends, that it did."""
        print(name, flush=True)
        with super().phase(name, total) as advance:
            yield advance
        print(f"after {name}", flush=True)


def run_sync(
    folder: Path, source: Source, embedder: Embedder, progress: Progress | None = None
) -> SyncReport:
    """One sync into the catalog of a folder."""
    engine, cache = SqliteEngine(folder / "catalog.db"), EmbeddingCache(folder / "embeddings.db")
    options = SyncOptions(locks=folder / "locks", allow_shrink=True, batch=BATCH)
    try:
        return sync(source, engine, embedder, cache, options, progress)
    finally:
        engine.close()
        cache.close()


def state_of(folder: Path) -> State:
    """Schema, and hash and vector of every document."""
    engine = SqliteEngine(folder / "catalog.db")
    try:
        live = engine.live()
        if live is None:
            return None, {}
        held = engine.documents(live[0])
        return live[1], {d.document.id: (d.document.content_hash, d.vector.tobytes()) for d in held}
    finally:
        engine.close()


def open_encoder(hashed: bool) -> Embedder:
    """The shipped encoder, or what costs nothing."""
    return Hashed() if hashed else load_encoder(settings=ONE_THREAD)


def child(folder: Path, model: str, encoder: Embedder) -> None:
    """The process that is killed: syncs and prints marks."""
    embedder = OtherModel(encoder) if model == "another" else encoder
    print("begin", flush=True)
    run_sync(folder, BotocoreSource(NOW), embedder, Marks())
    print(END, flush=True)


class Disturber:
    """Starts the process and kills it at a moment of its own choice."""

    def __init__(self, model: Sequence[str], sections: list[tuple[str, float]], seed: int) -> None:
        self._model = model
        self._sections = sections
        self._random = random.Random(seed)

    def disturb(self, folder: Path, whole: bool) -> str:
        """Kills one sync, and returns the section it was in, `END` when it was faster."""
        if whole:
            mark, seconds = "begin", sum(length for _, length in self._sections)
        else:
            mark, seconds = self._random.choice(self._sections)
        with spawn(folder, self._model) as process:
            lines = process.stdout
            assert lines is not None
            for line in lines:
                if line.strip() == mark:
                    break
            time.sleep(self._random.uniform(0, seconds))
            process.kill()
            rest = [line.strip() for line in lines]
        return rest[-1] if rest else mark


def spawn(folder: Path, model: Sequence[str]) -> subprocess.Popen[str]:
    """A process that syncs; `model` are the options that say with what."""
    command = [sys.executable, __file__, "--child", str(folder), *model]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def undisturbed(folder: Path, model: Sequence[str]) -> list[tuple[str, float]]:
    """Runs to the end, and returns the sections with their seconds."""
    with spawn(folder, model) as process:
        assert process.stdout is not None
        marks = [(line.strip(), time.monotonic()) for line in process.stdout]
    if process.returncode != 0:
        raise SystemExit(f"the undisturbed sync failed with exit status {process.returncode}")
    return [(name, after - at) for (name, at), (_, after) in pairwise(marks)]


def experiment(
    base: Path, model: str, embedder: Embedder, runs: int, seed: int, more: Sequence[str]
) -> dict[str, Any]:
    """Kills so many syncs of copies of `base`, and counts those that ended equal; `more`: their options."""
    options = ["--model", model, *more]
    before = state_of(base)
    goal = shutil.copytree(base, base.with_name(f"goal-{model}"))
    sections = undisturbed(goal, options)
    after = state_of(goal)
    disturber = Disturber(options, sections, seed)
    hit: Counter[str] = Counter()
    whole = equal = 0
    while hit.total() - hit[END] < runs:
        folder = shutil.copytree(base, base.with_name(f"run-{model}"))
        section = disturber.disturb(folder, whole=hit.total() % 2 == 0)
        hit[section] += 1
        if section != END:
            whole += is_whole(state_of(folder), before, after)
            run_sync(folder, BotocoreSource(NOW), embedder)
            equal += state_of(folder) == after
        shutil.rmtree(folder)
    describe(f"A sync with {model} model", sections, hit)
    print(f"  {runs} kills: {whole} whole after the kill, {equal} equal after one more run", flush=True)
    return {"runs": runs, "whole": whole, "equal": equal}


def is_whole(state: State, before: State, after: State) -> bool:
    """Whether a person can have this state: before, after, or moved to the other model but not synced."""
    moved = state[0] == after[0] and content(state) == content(before)
    return state in (before, after) or moved


def content(state: State) -> dict[str, str]:
    """Ids and hashes."""
    return {document_id: content_hash for document_id, (content_hash, _) in state[1].items()}


def describe(title: str, sections: list[tuple[str, float]], hit: Counter[str]) -> None:
    """Prints where the kills fell."""
    print(f"\n{title}")
    for name, seconds in [*sections, (END, 0.0)]:
        print(f"  {name:<15} {seconds * 1000:8.1f} ms   {hit[name]:3} kills")


def main() -> None:
    """Prints where the kills fell and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--rebuild-runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hashed", action="store_true", help="digests in place of the shipped encoder")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--model", default="the-same", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    encoder = open_encoder(arguments.hashed)
    if arguments.child:
        child(arguments.child, arguments.model, encoder)
        return
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "base"
        base.mkdir()
        run_sync(base, OlderSource(), encoder)
        run_sync(base, BotocoreSource(OTHER, "other"), encoder)
        more = ["--hashed"] * arguments.hashed
        same = experiment(base, "the-same", encoder, arguments.runs, arguments.seed, more)
        turned = OtherModel(encoder)
        moved = experiment(base, "another", turned, arguments.rebuild_runs, arguments.seed, more)
    print(json.dumps({**same, **{f"rebuild_{name}": number for name, number in moved.items()}}))


if __name__ == "__main__":
    main()
