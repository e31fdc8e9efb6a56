"""A value of a type that kitpick does not write is named with the cure, or its row counts for none."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from kitpick_engines.contract import Filter
from kitpick_engines.errors import EngineUnavailable
from kitpick_rescorers.intents.answers import AnswerLog, RememberedAnswer
from kitpick_rescorers.intents.confirmed import confirmed
from kitpick_rescorers.intents.store import Chooser, Intent, IntentStore
from kitpick_rescorers.intents.votes import near_samples, tally_votes
from kitpick_rescorers.intents.written import Enrichment, ShownTo, WrittenStore

VALUES = (None, 7, 0.5, "x", b"x", b"12345678")
"""One of each type of SQLite, and a vector of another length."""
VECTOR = np.array([0.6, 0.8, 0.0], dtype=np.float32)
ANSWER = RememberedAnswer("rain?", "acme", ("staff",), "hybrid", ("weather", "email"))
Uses = dict[str, Callable[[], object]]


def samples(path: Path) -> Uses:
    store = IntentStore(path)

    def ask() -> object:
        found = store.of_model("m@1", "acme", len(VECTOR))
        near = near_samples(found, VECTOR)
        return tally_votes(found, near, now=0.0), confirmed(found, near, "rain?"), found.covered

    def embed_anew() -> object:
        stale = store.stale("m@2", 9)
        store.embedded(stale, [VECTOR] * len(stale), "m@2")
        return [(intent, by) for intent, by in stale if by.tenant == "acme"]

    return {"ask": ask, "embed anew": embed_anew}


def written(path: Path) -> Uses:
    store = WrittenStore(path)
    mine = Filter(tenant="acme")

    def show_to() -> object:
        store.show_to({"weather": ShownTo("globex")})
        return store.entries()

    return {
        "near": lambda: [each.head for each in store.near("rain?", VECTOR, "m@1", mine).rankings],
        "entry": lambda: store.entry("weather"),
        "show to": show_to,
    }


def answers(path: Path) -> Uses:
    log = AnswerLog(path)
    (name,) = [row[0] for row in read(path, "SELECT id FROM answers")]

    def close() -> None:
        log.close()

    return {
        "find": lambda: log.find(str(name), "acme"),
        "judged": lambda: [(each.api, each.client, each.verdict, each.rank) for each in log.judged("acme")],
        "remember": lambda: log.remember(ANSWER),
        "forget": lambda: log.forget("globex"),
        "close": close,
    }


def fill_samples(path: Path) -> None:
    for client in ("ann", "bob", ""):
        IntentStore(path).put([Intent("rain?", "weather")], [VECTOR], "m@1", Chooser(client, "acme"))


def fill_written(path: Path) -> None:
    entry = Enrichment("weather", "d", "m", 1.0, "kept", kept=("will it rain?",), shown_to=ShownTo("acme"))
    WrittenStore(path).put(entry, [VECTOR], "m@1")


def fill_answers(path: Path) -> None:
    log = AnswerLog(path)
    log.judge(log.remember(ANSWER), ["weather"], "ann", "chosen", 1.0)
    log.close()


STORES: dict[str, tuple[Callable[[Path], None], Callable[[Path], Uses]]] = {
    "samples": (fill_samples, samples),
    "written": (fill_written, written),
    "answers": (fill_answers, answers),
}
CELLS = {
    "samples": {"intents": "request api client at model vector tenant verdict"},
    "written": {
        "intents": "request api client at model vector tenant verdict",
        "enrichments": "api entry",
    },
    "answers": {
        "answers": "id tenant at answer",
        "verdicts": "answer client api verdict at",
        "secret": "one salt",
    },
}
CASES = [
    (store, table, column)
    for store, tables in CELLS.items()
    for table, columns in tables.items()
    for column in columns.split()
]


def read(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def put(path: Path, table: str, column: str, value: object) -> None:
    """Puts a value into every row of a column, in a table without constraints."""
    with closing(sqlite3.connect(path)) as connection, connection:
        names = [name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]
        connection.execute(f"CREATE TABLE bare ({', '.join(names)})")
        connection.execute(f"INSERT INTO bare SELECT * FROM {table}")
        connection.execute(f"DROP TABLE {table}")
        connection.execute(f"ALTER TABLE bare RENAME TO {table}")
        connection.execute(f"UPDATE {table} SET {column} = ?", (value,))


def asked(uses: Uses) -> dict[str, object]:
    """What each use answers, or that it names the file."""
    return {name: answer(use) for name, use in uses.items()}


def answer(use: Callable[[], object]) -> object:
    try:
        return use()
    except EngineUnavailable as error:
        return str(error)


@pytest.mark.parametrize("store", STORES)
def test_no_column_is_forgotten(store: str, tmp_path: Path) -> None:
    STORES[store][0](tmp_path / "kept.db")
    tables = read(tmp_path / "kept.db", "SELECT name FROM sqlite_master WHERE type = 'table'")
    columns = {
        str(table): " ".join(str(name) for (name,) in read(tmp_path / "kept.db", names.format(table)))
        for (table,) in tables
        for names in ["SELECT name FROM pragma_table_info('{}')"]
    }
    assert columns == CELLS[store]


@pytest.mark.parametrize(("store", "table", "column"), CASES)
def test_a_value_of_another_type_is_named_or_its_row_is_as_if_it_were_not_there(
    store: str, table: str, column: str, tmp_path: Path
) -> None:
    fill, uses = STORES[store]
    fill(tmp_path / "sound.db")
    right = asked(uses(tmp_path / "sound.db"))
    for number, value in enumerate(VALUES):
        path = tmp_path / f"{number}.db"
        fill(path)
        put(path, table, column, value)
        for use, seen in asked(uses(path)).items():
            if isinstance(seen, str) and str(path) in seen:
                assert "put back a copy, or remove the file" in seen, (value, use)
            else:
                assert not seen or type(seen) is type(right[use]), (value, use, seen)


@pytest.mark.parametrize(
    ("table", "column", "value"), [("verdicts", "api", "other"), ("secret", "salt", b"")]
)
def test_values_that_kitpick_does_not_write_are_named(
    table: str, column: str, value: object, tmp_path: Path
) -> None:
    fill_answers(tmp_path / "answers.db")
    put(tmp_path / "answers.db", table, column, value)
    found = asked(answers(tmp_path / "answers.db"))
    assert f"{table}.{column} holds" in str(found["judged" if table == "verdicts" else "remember"])
