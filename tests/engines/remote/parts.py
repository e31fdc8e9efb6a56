"""Sessions that write parts of one job side by side, on a real server."""

from __future__ import annotations

import pytest
from asking import dense_of, words_of
from catalogs import SCHEMA, fill, item, unit
from servers import MakeCatalog

from kitpick_engines.contract import JobPart
from kitpick_engines.errors import EngineUnavailable
from kitpick_engines.remote.engine import RemoteEngine

FIRST, SECOND = JobPart("zoo", 1, 2), JobPart("zoo", 2, 2)


def hasty(engine: RemoteEngine) -> str:
    """URL of the same catalog for a writer who does not wait."""
    return f"{engine.url}&busy=0.2"


def write_and_break(engine: RemoteEngine, index: str) -> None:
    with engine.writing_part(index, SECOND) as writer:
        writer.write([item("s/t/b")])
        raise RuntimeError("broken")


class PartContract:
    """Inherited by the tests of each server, beside `SessionContract`."""

    def test_each_part_is_visible_when_it_ends_whichever_began_first(self, make_engine: MakeCatalog):
        engine = make_engine()
        index = fill(engine, [item("s/t/a", description="old"), item("s/t/b", description="old")])
        reader, other = make_engine(engine.url), make_engine(engine.url)
        with engine.writing_part(index, FIRST) as early:
            early.write([item("s/t/a", description="new")])
            with other.writing_part(index, SECOND) as late:
                late.write([item("s/t/b", description="new"), item("s/t/c")])
                early.write([item("s/t/d")])
            assert words_of(reader, "new") == ["s/t/b"]
            assert words_of(reader, "old") == ["s/t/a"]
            assert dense_of(reader, unit(1)) == ["s/t/a", "s/t/b", "s/t/c"]
            assert [name for name, _ in reader.hashes(index)] == ["s/t/a", "s/t/b", "s/t/c"]
        assert words_of(reader, "new") == ["s/t/a", "s/t/b"]
        assert dense_of(reader, unit(1)) == ["s/t/a", "s/t/b", "s/t/c", "s/t/d"]
        hits = engine.server.call("POST", f"/{engine.address.name}/_search", {"sort": ["id"]})["hits"]["hits"]
        assert [hit["_source"]["id"] for hit in hits] == dense_of(reader, unit(1)), "so does the alias"

    def test_a_part_that_fails_leaves_the_others_alone(self, make_engine: MakeCatalog):
        engine = make_engine()
        index, other = engine.ensure(SCHEMA), make_engine(engine.url)
        with engine.writing_part(index, FIRST) as kept:
            kept.write([item("s/t/a")])
            with pytest.raises(RuntimeError, match="broken"):
                write_and_break(other, index)
        assert dense_of(engine, unit(1)) == ["s/t/a"]
        fill(engine, [item("s/t/c")])
        assert dense_of(engine, unit(1)) == ["s/t/a", "s/t/c"]

    def test_a_killed_part_is_taken_over_by_its_next_attempt_while_others_go_on(
        self, make_engine: MakeCatalog, short_lease
    ):
        engine = make_engine()
        index, again = engine.ensure(SCHEMA), make_engine(engine.url)
        killed = make_engine(engine.url).writing_part(index, SECOND)
        slow = killed.__enter__()
        slow.write([item("s/t/b", description="half"), item("s/t/half")])
        with engine.writing_part(index, FIRST) as going_on:
            going_on.write([item("s/t/a")])
            with again.writing_part(index, SECOND) as second:
                second.write([item("s/t/b", description="whole")])
            going_on.write([item("s/t/c")])
        assert dense_of(engine, unit(1)) == ["s/t/a", "s/t/b", "s/t/c"]
        assert words_of(engine, "half") == []
        with pytest.raises(EngineUnavailable, match="took over"):
            killed.__exit__(None, None, None)
        fill(engine, [item("s/t/d")])
        assert dense_of(engine, unit(1)) == ["s/t/a", "s/t/b", "s/t/c", "s/t/d"]

    def test_the_same_part_and_other_writers_wait(self, make_engine: MakeCatalog):
        engine = make_engine()
        index = engine.ensure(SCHEMA)
        with engine.writing_part(index, FIRST) as writer:
            writer.write([item("s/t/a")])
            for refused in (
                make_engine(hasty(engine)).writing_part(index, FIRST),
                make_engine(hasty(engine)).writing_part(index, JobPart("zoo", 2, 3)),
                make_engine(hasty(engine)).writing(index),
            ):
                with pytest.raises(EngineUnavailable, match="another process is writing"), refused:
                    pass
        fill(engine, [item("s/t/b")])
        assert dense_of(engine, unit(1)) == ["s/t/a", "s/t/b"]

    def test_parts_that_were_all_killed_give_way_to_another_writer(
        self, make_engine: MakeCatalog, short_lease
    ):
        engine = make_engine()
        index = fill(engine, [item("s/t/a", description="old")])
        for part, name in ((FIRST, "s/t/a"), (SECOND, "s/t/b")):
            killed = make_engine(engine.url).writing_part(index, part)
            killed.__enter__().write([item(name, description="half")])
        fill(engine, [item("s/t/c")])
        assert dense_of(engine, unit(1)) == ["s/t/a", "s/t/c"]
        assert words_of(engine, "old") == ["s/t/a"]
