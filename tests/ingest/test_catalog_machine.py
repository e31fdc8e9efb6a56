"""Operations on a catalog in any order, against a plain model of what must be there.

Whatever happens to the files, a document is there with its own vector, or is said to have lost it: never
another document, another vector, or a silent hole.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
from faults import Crash, FaultyDisk, How
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from shops import Shop, api

from kitpick_engines.contract import Filter, SearchRequest
from kitpick_engines.document import ApiDocument
from kitpick_engines.sqlite import SqliteEngine, SqliteSettings
from kitpick_foundation.disk import Disk
from kitpick_foundation.errors import KitpickError
from kitpick_ingest.copies import copy_catalog
from kitpick_ingest.progress import NullProgress

SOURCES = ("pets", "zoo")
EAGER = SqliteSettings(compact_above=0.3, compact_from=4)
EVERYBODY = Filter(principals=frozenset({"ann"}))
versions = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 3), max_size=6)
sources = st.sampled_from(SOURCES)

Held = dict[str, ApiDocument]
"""What a catalog must hold, by id."""


def documents(source: str, wanted: Mapping[str, int]) -> Held:
    """Each is about animals; the third version is only for Ann."""
    found = [
        api(name, f"animal version {version}", source, allowed=("ann",) if version == 3 else ())
        for name, version in wanted.items()
    ]
    return {document.id: document for document in found}


class CatalogMachine(RuleBasedStateMachine):
    """`held` is the model; `lost` are documents whose vector was damaged and not embedded again since."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.shop = Shop(self.folder, FaultyDisk(), EAGER)
        self.held: Held = {}
        self.lost: frozenset[str] = frozenset()
        self.kept: Held | None = None

    def teardown(self) -> None:
        self.shop.close()
        shutil.rmtree(self.folder)

    def reopen(self, disk: Disk | None = None) -> None:
        with suppress(Crash):
            self.shop.close()
        self.shop = Shop(self.folder, disk or FaultyDisk(), EAGER)

    def after_ingest(self, source: str, wanted: Held) -> tuple[Held, frozenset[str]]:
        others = {id_: each for id_, each in self.held.items() if each.source != source}
        return others | wanted, self.lost - {id_ for id_ in self.lost if id_ not in others}

    def ingest_of(self, source: str, wanted: Held) -> None:
        self.shop.sync(*wanted.values(), source=source, allow_shrink=True, public=True, source_timeout=None)

    @rule(source=sources, wanted=versions)
    def ingest(self, source: str, wanted: dict[str, int]) -> None:
        found = documents(source, wanted)
        self.ingest_of(source, found)
        self.held, self.lost = self.after_ingest(source, found)

    @rule(source=sources, wanted=versions, at=st.integers(1, 120), how=st.sampled_from(("error", "crash")))
    def ingest_on_a_bad_disk(self, source: str, wanted: dict[str, int], at: int, how: How) -> None:
        found = documents(source, wanted)
        before, after = (self.held, self.lost), self.after_ingest(source, found)
        error: BaseException | None = None
        try:
            self.reopen(FaultyDisk(at, how))
            self.ingest_of(source, found)
        except (KitpickError, Crash) as raised:
            error = raised
        self.reopen()
        if isinstance(error, Crash):
            self.held, self.lost = after if self.content() == self.shown(*after) else before
        else:
            self.held, self.lost = after if error is None else before
        if error is not None:  # what was written before the error may have mended what was lost
            self.lost &= self.without_vector()

    @precondition(lambda self: not self.lost)
    @rule()
    def backup(self) -> None:
        if self.shop.engine.live() is not None:
            with closing(SqliteEngine(self.folder / "kept.db")) as kept:
                copy_catalog(self.shop.engine, kept, NullProgress(), self.folder / "locks")
            self.kept = self.held

    @precondition(lambda self: self.kept is not None)
    @rule()
    def restore(self) -> None:
        assert self.kept is not None
        with closing(SqliteEngine(self.folder / "kept.db")) as kept:
            copy_catalog(kept, self.shop.engine, NullProgress(), self.folder / "locks")
        self.held, self.lost = self.kept, frozenset()

    @rule(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), cut=st.booleans())
    def damage(self, place: float, bit: int, cut: bool) -> None:
        """Turns one bit of the vectors, or cuts their file behind the first one."""
        row = 4 * self.shop.embedder.dimensions
        self.shop.close()
        for file in (self.folder / "catalog.db.vectors").glob("*.f32"):
            data = bytearray(file.read_bytes())
            if cut:
                file.write_bytes(data[: row + int(place * max(len(data) - row, 0))])
            elif data:
                data[int(place * len(data))] ^= 1 << bit
                file.write_bytes(data)
        self.shop = Shop(self.folder, FaultyDisk(), EAGER)
        self.lost = self.without_vector()

    @rule()
    def damage_the_cache(self) -> None:
        assert self.shop.cache is not None
        self.shop.cache.close()
        path = self.folder / "embeddings.db"
        path.write_bytes(b"\xa5" * path.stat().st_size)
        self.reopen()

    def without_vector(self) -> frozenset[str]:
        return frozenset(id_ for id_, content in self.content().items() if not content[0])

    def content(self) -> dict[str, tuple[str, bytes]]:
        """Hash and vector of every document, as the engine says."""
        live = self.shop.engine.live()
        if live is None:
            return {}
        hashes = dict(self.shop.engine.hashes(live[0]))
        found = {each.document.id: each.vector.tobytes() for each in self.shop.engine.documents(live[0])}
        assert hashes.keys() == found.keys()
        return {id_: (hashes[id_], found[id_]) for id_ in hashes}

    def shown(self, held: Held, lost: frozenset[str]) -> dict[str, tuple[str, bytes]]:
        """The same, as the model says."""
        nothing = np.zeros(self.shop.embedder.dimensions, np.float32).tobytes()
        return {
            id_: ("", nothing) if id_ in lost else (each.content_hash, self.shop.embedder.of(each).tobytes())
            for id_, each in held.items()
        }

    @invariant()
    def holds_what_the_model_says(self) -> None:
        assert self.content() == self.shown(self.held, self.lost)

    @invariant()
    def finds_what_is_there(self) -> None:
        for wanted in (EVERYBODY, Filter()):
            vector = self.shop.embedder.vector("animal")
            found = self.shop.engine.search(SearchRequest("animal", vector, 50, wanted))
            visible = {id_ for id_, each in self.held.items() if not each.allowed or wanted is EVERYBODY}
            assert {each.id for each in found if each.lexical} == visible
            assert {each.id for each in found if each.dense} == visible - self.lost
        assert sum(self.shop.engine.damaged().values()) == len(self.lost)


CatalogMachine.TestCase.settings = settings(
    max_examples=25,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestCatalogMachine = CatalogMachine.TestCase
