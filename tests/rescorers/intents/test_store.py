"""The file of sample requests: what is kept, what makes room, who sees a change."""

from __future__ import annotations

import math
import os
import sqlite3
import struct
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kitpick_engines.errors import EngineUnavailable
from kitpick_rescorers.intents.store import MAX_PER_CLIENT, Chooser, Intent, IntentStore

VECTOR = np.array([0.6, 0.8], dtype=np.float32)


@pytest.fixture
def store(tmp_path: Path) -> IntentStore:
    return IntentStore(tmp_path / "deep" / "catalog.intents")


def put(store: IntentStore, *pairs: tuple[str, str], client: str = "", model: str = "m@1") -> None:
    store.put([Intent(*pair) for pair in pairs], [VECTOR] * len(pairs), model, Chooser(client))


def test_before_the_first_sample_there_is_no_file(store: IntentStore) -> None:
    assert store.of_model("m@1").apis == ()
    assert not store.path.exists()


def test_samples_come_back_with_their_vectors(store: IntentStore) -> None:
    put(store, ("rain?", "weather"), ("mail it", "email"))
    found = store.of_model("m@1")
    assert sorted(found.apis) == ["email", "weather"]
    assert found.covered == {"email", "weather"}
    np.testing.assert_array_equal(found.vectors, np.stack([VECTOR, VECTOR]))


def test_the_same_sample_twice_is_one(store: IntentStore) -> None:
    put(store, ("rain?", "weather"), ("rain?", "weather"))
    put(store, ("rain?", "weather"))
    assert store.of_model("m@1").apis == ("weather",)


def test_another_process_sees_a_change_at_once(store: IntentStore) -> None:
    other = IntentStore(store.path)
    put(store, ("rain?", "weather"))
    assert other.of_model("m@1").apis == ("weather",)
    put(store, ("mail it", "email"))
    assert len(other.of_model("m@1").apis) == 2
    store.remove("email")
    assert other.of_model("m@1").apis == ("weather",)


@pytest.mark.skipif(os.name != "posix", reason="permissions of folders are those of POSIX here")
def test_samples_in_a_read_only_folder_vote_and_are_not_changed() -> None:
    with tempfile.TemporaryDirectory() as name:
        store = IntentStore(Path(name) / "catalog.intents")
        put(store, ("rain?", "weather"))
        Path(name).chmod(0o555)
        superuser = os.geteuid() == 0
        if superuser:
            os.seteuid(65534)
        try:
            assert IntentStore(store.path).of_model("m@1").apis == ("weather",)
            with pytest.raises(EngineUnavailable, match="its folder is read-only for this user"):
                put(store, ("mail it", "email"))
        finally:
            if superuser:
                os.seteuid(0)
            Path(name).chmod(0o755)


def test_a_flood_of_one_client_drowns_only_its_own(store: IntentStore) -> None:
    put(store, ("rain?", "weather"))
    put(store, ("rain?", "weather"), client="quiet")
    for start in range(0, 1_000, 250):
        put(store, *((f"spam {start + n}", "spam") for n in range(250)), client="loud")
    found = store.of_model("m@1")
    assert found.clients.count("loud") == MAX_PER_CLIENT
    assert found.apis.count("weather") == 2


def test_samples_of_another_encoder_wait_until_they_are_embedded_anew(store: IntentStore) -> None:
    put(store, ("rain?", "weather"), client="x")
    assert store.of_model("m@2").apis == ()
    stale = store.stale("m@2", 10)
    assert stale == [(Intent("rain?", "weather"), Chooser("x"))]
    at = store.of_model("m@1").times[0]
    store.embedded(stale, [VECTOR], "m@2")
    assert store.stale("m@2", 10) == []
    assert store.of_model("m@2").times[0] == at, "what was chosen long ago does not become new by it"


@pytest.mark.parametrize("damage", [b"\x00", b"", struct.pack("<2f", math.nan, 1)])
def test_damaged_vectors_are_a_typed_error(store: IntentStore, damage: bytes) -> None:
    put(store, ("rain?", "weather"), ("sun?", "weather"))
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("UPDATE intents SET vector = ? WHERE request = 'rain?'", (damage,))
    with pytest.raises(EngineUnavailable, match="vectors of sample requests are damaged: put back a copy"):
        store.of_model("m@1")


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE intents SET request = CAST(x'72c2' AS TEXT)",
        # What SQLite says of this is no UTF-8 itself.
        "UPDATE sqlite_master SET name = CAST(x'c228' AS TEXT), sql = 'CREATE' WHERE type = 'table'",
    ],
)
def test_damaged_text_is_a_typed_error(store: IntentStore, damage: str) -> None:
    put(store, ("rain?", "weather"))
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(damage)
    with pytest.raises(EngineUnavailable, match=r"catalog\.intents: sample requests: "):
        store.of_model("m@1")


def test_a_file_that_is_something_else_is_a_typed_error(store: IntentStore) -> None:
    store.path.parent.mkdir()
    store.path.write_text("not a database at all, but long enough to look at")
    with pytest.raises(
        EngineUnavailable, match=r"^/.*catalog\.intents: sample requests: file is not a database$"
    ):
        put(store, ("rain?", "weather"))
    with pytest.raises(
        EngineUnavailable, match=r"^/.*catalog\.intents: sample requests: file is not a database$"
    ):
        store.of_model("m@1")


@pytest.fixture
def careless_sqlite(monkeypatch: pytest.MonkeyPatch) -> None:
    """As SQLite is by its own default: some systems build theirs to overwrite what is removed."""
    connect = sqlite3.connect

    def opened(*args: Any, **more: Any) -> sqlite3.Connection:
        connection = connect(*args, **more)
        connection.execute("PRAGMA secure_delete = OFF")
        return connection

    monkeypatch.setattr(sqlite3, "connect", opened)


@pytest.mark.usefixtures("careless_sqlite")
def test_what_made_room_or_was_removed_is_not_in_the_file_any_more(store: IntentStore) -> None:
    put(store, *((f"{number:04} a private matter " + "x" * 1_000, "email") for number in range(50)))
    store.remove("email")
    for number in range(MAX_PER_CLIENT + 50):
        put(store, (f"{number:04} another private matter " + "x" * 1_000, "weather"), client="ann")
    assert store.forget() == MAX_PER_CLIENT
    assert b"private matter" not in b"".join(file.read_bytes() for file in store.path.parent.iterdir())
