"""Vectors that are damaged, missing or those of another catalog: named, left out of searches, never zeros."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from asking import dense_of, words_of
from catalogs import DIMENSIONS, fill, item, unit
from children import importing

from kitpick_engines.contract import CheckedEngine, Filter, SearchRequest
from kitpick_engines.errors import CorruptStore
from kitpick_engines.sqlite import SqliteEngine, SqliteSettings

ROW = DIMENSIONS * 4
COUNT = 10
IDS = [f"s/t/{number}" for number in range(COUNT)]


def angle(number: int) -> np.ndarray:
    return unit(1, number / COUNT)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A catalog of ten documents, closed."""
    path = tmp_path / "tools.db"
    with closing(SqliteEngine(path)) as engine:
        fill(engine, [item(name, angle(number), description="weather") for number, name in enumerate(IDS)])
    return path


def vectors_of(path: Path) -> Path:
    (file,) = path.with_name(path.name + ".vectors").iterdir()
    return file


def change(file: Path, place: int, content: bytes) -> None:
    data = bytearray(file.read_bytes())
    data[place : place + len(content)] = content
    file.write_bytes(data)


DAMAGES: dict[str, tuple[Callable[[Path], None], set[int]]] = {
    "cut in half": (lambda file: file.write_bytes(file.read_bytes()[: 5 * ROW]), {5, 6, 7, 8, 9}),
    "cut within a row": (lambda file: file.write_bytes(file.read_bytes()[: 8 * ROW + 1]), {8, 9}),
    "one bit": (lambda file: change(file, 3 * ROW + 5, bytes([file.read_bytes()[3 * ROW + 5] ^ 1])), {3}),
    "NaN": (lambda file: change(file, 2 * ROW, np.float32(np.nan).tobytes()), {2}),
    "infinite": (lambda file: change(file, 2 * ROW + 4, np.float32(-np.inf).tobytes()), {2}),
    "zeros": (lambda file: change(file, 4 * ROW, bytes(2 * ROW)), {4, 5}),
    "two rows swapped": (
        lambda file: change(file, 0, file.read_bytes()[ROW : 2 * ROW] + file.read_bytes()[:ROW]),
        {0, 1},
    ),
}


def test_a_file_cut_while_it_is_in_use_loses_vectors_and_not_the_process(path: Path) -> None:
    script = f"""
import os
from contextlib import closing
from pathlib import Path
from asking import dense_of
from catalogs import unit
from kitpick_engines.sqlite import SqliteEngine

with closing(SqliteEngine(Path({str(path)!r}))) as engine:
    assert len(dense_of(engine, unit(1))) == {COUNT}
    os.truncate({str(vectors_of(path))!r}, 0)
    try:
        dense_of(engine, unit(1))
    except Exception as error:
        print(type(error).__name__, error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=importing(),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("CorruptStore")
    assert "copy a backup to its place" in done.stdout


def test_what_is_left_of_a_file_cut_while_it_is_in_use_is_searched(path: Path) -> None:
    with closing(SqliteEngine(path)) as engine:
        assert len(dense_of(engine, unit(1))) == COUNT
        os.truncate(vectors_of(path), 5 * ROW)

        assert sorted(dense_of(engine, unit(1))) == IDS[:5]
        assert engine.damaged() == {"s": 5}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_vector_is_named_and_left_out_of_searches(path: Path, name: str) -> None:
    damage, lost = DAMAGES[name]
    damage(vectors_of(path))

    with closing(SqliteEngine(path)) as engine:
        assert engine.damaged() == {"s": len(lost)}
        whole = [name for number, name in enumerate(IDS) if number not in lost]
        assert sorted(dense_of(engine, unit(1))) == whole
        assert words_of(engine, "weather") == IDS
        index, _ = engine.live()
        held = {each.document.id: each.vector for each in engine.documents(index)}
        shown = {each.id: each.vector for each in engine.apis_of_tools(["c/t"], Filter(), COUNT)}
        for number, name_ in enumerate(IDS):
            expected = np.zeros(DIMENSIONS) if number in lost else angle(number)
            np.testing.assert_array_equal(held[name_], expected)
            np.testing.assert_array_equal(shown[name_], expected)
        assert {key for key, content in engine.hashes(index, "s") if not content} == {IDS[n] for n in lost}


def test_a_caller_is_told_of_damage_to_what_they_may_see_alone(tmp_path: Path) -> None:
    path = tmp_path / "tools.db"
    with closing(SqliteEngine(path)) as engine:
        fill(engine, [item("public/t/1", angle(1), source="public")])
        fill(engine, [item("acme/t/1", angle(2), source="acme's", tenant="acme")])
        fill(engine, [item("board/t/1", angle(3), source="board's", allowed=("board",))])
    change(vectors_of(path), 0, bytes(3 * ROW))

    board = Filter(principals=frozenset({"board"}))
    told = {"public": Filter(), "acme's": Filter(tenant="acme"), "board's": board}
    with closing(SqliteEngine(path)) as engine:
        for own, caller in told.items():
            found = engine.search(SearchRequest("weather", unit(1), 5, caller))
            assert found.damaged == dict.fromkeys(("public", own), 1)
        assert set(engine.damaged()) == set(told), "the operator is told of all"


@pytest.mark.parametrize("name", DAMAGES)
def test_what_is_written_again_is_whole_and_the_rest_stays_lost(path: Path, name: str) -> None:
    damage, lost = DAMAGES[name]
    damage(vectors_of(path))
    first, *others = sorted(lost)

    with closing(SqliteEngine(path)) as engine:
        fill(engine, [item(IDS[first], angle(first), description="weather")])
        assert engine.damaged() == ({"s": len(others)} if others else {})
        assert IDS[first] in dense_of(engine, unit(1))
        fill(engine, [item(IDS[number], angle(number), description="weather") for number in others])
        assert engine.damaged() == {}
        assert sorted(dense_of(engine, unit(1))) == IDS


def test_a_compaction_launders_nothing(path: Path) -> None:
    vectors_of(path).write_bytes(vectors_of(path).read_bytes()[: 7 * ROW])

    with closing(SqliteEngine(path, SqliteSettings(compact_above=0.1, compact_from=2))) as engine:
        index, _ = engine.live()
        with engine.writing(index) as writer:
            writer.delete(IDS[:4])
        assert vectors_of(path).name == "1-2.f32"
        assert engine.damaged() == {"s": 3}
        assert sorted(dense_of(engine, unit(1))) == IDS[4:7]


def test_a_search_that_goes_on_sees_what_was_lost_and_made_anew(path: Path) -> None:
    """The file is removed and made again under the same name, within the life of one engine."""
    with closing(SqliteEngine(path)) as engine:
        assert engine.damaged() == {}
        vectors_of(path).unlink()
        fill(engine, [item("s/t/new", unit(-1))])
        assert engine.damaged() == {"s": COUNT}
        assert dense_of(engine, unit(1)) == ["s/t/new"]


def test_a_catalog_without_its_vectors_is_refused_and_can_be_written(path: Path) -> None:
    shutil.rmtree(path.with_name(path.name + ".vectors"))

    with closing(SqliteEngine(path)) as engine:
        for ask in (lambda: dense_of(engine, unit(1)), lambda: words_of(engine, "weather"), engine.damaged):
            with pytest.raises(CorruptStore, match=r"tools\.db\.vectors.*only half.*beside it.*ingest again"):
                ask()
        fill(engine, [item(name, angle(number)) for number, name in enumerate(IDS)])
        assert engine.damaged() == {}
        assert sorted(dense_of(engine, unit(1))) == IDS


def test_vectors_without_their_catalog_are_refused_and_kept(path: Path) -> None:
    path.unlink()
    kept = vectors_of(path).read_bytes()

    refused = pytest.raises(CorruptStore, match=r"tools\.db is not there: put the file back")
    with closing(SqliteEngine(path)) as engine, refused:
        fill(engine, [item()])
    assert vectors_of(path).read_bytes() == kept
    assert not path.exists()


def test_the_vectors_of_another_catalog_are_not_taken_for_its_own(path: Path, tmp_path: Path) -> None:
    with closing(SqliteEngine(tmp_path / "other.db")) as engine:
        fill(engine, [item(name, unit(-1, number)) for number, name in enumerate(IDS)])
    shutil.copy(vectors_of(tmp_path / "other.db"), vectors_of(path))

    with closing(SqliteEngine(path)) as engine:
        assert engine.damaged() == {"s": COUNT}
        assert dense_of(engine, unit(1)) == []


def test_the_engine_says_that_it_checks(path: Path) -> None:
    with closing(SqliteEngine(path)) as engine:
        assert isinstance(engine, CheckedEngine)


@pytest.mark.parametrize("claimed", [COUNT + 1, 10**9, 2**62])
def test_a_file_grows_by_what_is_written_whatever_the_catalog_claims(path: Path, claimed: int) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE indexes SET slots = ?", (claimed,))
        connection.commit()

    with closing(SqliteEngine(path)) as engine:
        fill(engine, [item("s/t/new", unit(1))])

        assert vectors_of(path).stat().st_size == (COUNT + 1) * ROW
        assert engine.damaged() == {}
        assert len(dense_of(engine, unit(1))) == COUNT + 1
