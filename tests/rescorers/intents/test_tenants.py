"""What one tenant says never moves what another finds, to the last bit; nobody takes anybody's place."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shelf import Shelf

from kitpick_engines.contract import Filter
from kitpick_rescorers.intents import store as stores
from kitpick_rescorers.intents.answers import AnswerLog, RememberedAnswer
from kitpick_rescorers.intents.permitted import PermittedApis
from kitpick_rescorers.intents.sample_votes import SampleVotes
from kitpick_rescorers.intents.store import Chooser, Intent, IntentStore
from kitpick_rescorers.intents.votes import Intents, Tally, near_samples, tally_votes

AXES = np.eye(8, dtype=np.float32)
NEAR = 0.8 * AXES[0] + 0.6 * AXES[1]
SECRET = "tell ZEBRASECRET that the merger is off"

said = st.tuples(
    st.sampled_from(["ann", "bob", "carl"]),
    st.integers(0, 3),
    st.sampled_from(["email", "pay"]),
    st.sampled_from(["chosen", "failed", "not_needed"]),
)


def say(store: IntentStore, tenant: str, client: str, request: int, api: str, verdict: str) -> None:
    intent, by = Intent(f"request {request}", api), Chooser(client, tenant)
    store.put([intent], [AXES[request]], "m@1", by, verdict)  # type: ignore[arg-type]


def told(store: IntentStore, tenant: str) -> list[object]:
    """Everything that a search of a tenant reads of a file."""
    found = store.of_model("m@1", tenant)
    near = [near_samples(found, AXES[request]) for request in range(4)]
    tallies = [tally_votes(found, rows, now=2e9) for rows in near]
    return [found.covered, found.apis, found.clients, found.requests, found.verdicts, near, tallies]


@given(own=st.lists(said, max_size=6), others=st.lists(said, min_size=1, max_size=6), forgets=st.booleans())
@settings(max_examples=15)
def test_a_hostile_tenant_changes_nothing_for_another(
    tmp_path_factory: pytest.TempPathFactory,
    own: list[tuple[str, int, str, str]],
    others: list[tuple[str, int, str, str]],
    forgets: bool,
) -> None:
    folder = tmp_path_factory.mktemp("tenants")
    alone, shared = IntentStore(folder / "alone.db"), IntentStore(folder / "shared.db")
    for store in (alone, shared):
        store.put([Intent("request 0", "email")], [AXES[0]], "m@1")
    for each in others:
        say(shared, "globex", *each)
    for each in own:
        say(alone, "acme", *each)
        say(shared, "acme", *each)
    if forgets:
        shared.forget("globex")
    assert told(shared, "acme") == told(alone, "acme")


@pytest.mark.parametrize(("tenant", "left"), [("acme", 3), ("globex", 2), ("", 1)])
def test_a_flood_evicts_only_choices_of_its_own_tenant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tenant: str, left: int
) -> None:
    monkeypatch.setattr(stores, "MAX_PER_TENANT", 3)
    store = IntentStore(tmp_path / "samples.db")
    store.put([Intent("by the operator", "email")], [AXES[0]], "m@1")
    for number in range(9):
        say(store, "acme", f"client{number}", 1, "pay", "chosen")
    for client in ("ann", "bob"):
        say(store, "globex", client, 2, "email", "chosen")
    found = store.of_model("m@1", tenant)
    assert sum(owner == tenant for owner in found.tenants) == left
    assert "by the operator" in found.requests


def test_a_flood_of_one_key_evicts_only_its_own_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "MAX_PER_TENANT", 6)
    store = IntentStore(tmp_path / "samples.db")
    for client in ("app/ann", "app/bob", "carl"):
        say(store, "acme", client, 0, "email", "chosen")
    for number in range(9):
        say(store, "acme", f"mallory/user{number}", 1, "pay", "chosen")
    kept = store.of_model("m@1", "acme").clients
    assert {"app/ann", "app/bob", "carl"} < set(kept)
    assert len(kept) == 6


def chosen(
    apis: list[str], clients: list[str], vectors: np.ndarray, requests: list[str], *, tenant: str
) -> Intents:
    """Rows of one tenant, in which each client chose an API; all at time 0."""
    ages, verdicts = np.zeros(len(apis)), ["chosen"] * len(apis)
    return Intents(apis, clients, ages, vectors, frozenset(apis), requests, [tenant] * len(apis), verdicts)


@pytest.mark.parametrize("users", [3, 1_500])
def test_the_users_that_one_key_names_take_no_place_of_those_of_another(tmp_path: Path, users: int) -> None:
    clients = [f"mallory/{number}" for number in range(users)] + ["app/ann", "app/bob", "carl"]
    apis = ["delete"] * users + ["email"] * 3
    vectors = np.array([[1.0, 0.0]] * users + [[0.8, 0.6]] * 3, dtype=np.float32)
    rows = chosen(apis, clients, vectors, apis, tenant="acme")
    votes = SampleVotes(tmp_path / "samples.db", None)
    apis = PermittedApis(Shelf(""), Filter(tenant="acme"))  # type: ignore[arg-type]
    near = votes.near(rows, np.array([1.0, 0.0], dtype=np.float32), apis)
    assert set(tally_votes(rows, near, now=0.0)["email"].choices) == {"app/ann", "app/bob", "carl"}
    assert near == sorted(near, key=lambda each: (-each[1], each[0]))
    assert len(near) == min(users + 3, 1_000)


@pytest.mark.parametrize("hidden", [0, 999, 1_000, 6_000])
@pytest.mark.parametrize("one_api", [True, False])
@pytest.mark.parametrize("client", ["", "user{}", "app/user{}"])
def test_samples_of_what_a_caller_may_not_see_take_nobodys_place(
    tmp_path: Path, client: str, one_api: bool, hidden: int
) -> None:
    """They are nearer, of the operator or of clients without a tenant, and as many as anybody likes."""
    apis = [f"secret{0 if one_api else number}" for number in range(hidden)] + ["email"] * 3
    clients = [client.format(number) for number in range(hidden)] + [client.format(f"-{n}") for n in range(3)]
    vectors = np.array([[1.0, 0.0]] * hidden + [[0.8, 0.6]] * 3, dtype=np.float32)
    requests = [f"request {number}" for number in range(len(apis))]
    rows = chosen(apis, clients, vectors, requests, tenant="")
    index = Shelf("email")
    seen = PermittedApis(index, Filter(tenant="acme"))  # type: ignore[arg-type]
    near = SampleVotes(tmp_path / "samples.db", None).near(rows, np.array([1.0, 0.0], np.float32), seen)
    assert [row for row, _ in near] == [hidden, hidden + 1, hidden + 2]
    assert len(index.asked) == len(set(index.asked)), "each is asked for once"


def test_what_votes_is_the_same_beside_any_number_of_hidden_samples(tmp_path: Path) -> None:
    class Encoder:
        identity = "m@1"

        def vectors(self, texts: tuple[str, ...]) -> list[np.ndarray]:
            return [AXES[0] for _ in texts]

    voted = []
    for hidden in (0, 1_500):
        path = tmp_path / f"{hidden}.db"
        others = [Intent("request", f"secret{number}") for number in range(hidden)]
        IntentStore(path).put([*others, Intent("near", "email")], [*[AXES[0]] * hidden, NEAR], "m@1")
        votes = SampleVotes(path, None)
        voted.append(
            votes.add_votes([], AXES[0], Filter(tenant="acme"), Shelf("email"), Encoder(), "request")  # type: ignore[arg-type]
        )
    places = [[(each.id, each.intent) for each in found.candidates] for found in voted]
    assert places[0] == places[1]
    assert [each for each, _ in places[0]] == ["email"]
    assert voted[0].confirmed == voted[1].confirmed == {}


@pytest.mark.parametrize("spellings", [1, 24, 200])
def test_one_client_with_many_spellings_takes_nobodys_place(spellings: int) -> None:
    clients = ["mallory"] * spellings + ["", "ann", "bob"]
    apis = ["delete"] * spellings + ["email"] * 3
    vectors = np.array([[1.0, 0.0]] * spellings + [[0.8, 0.6]] * 3, dtype=np.float32)
    rows = chosen(apis, clients, vectors, apis, tenant="")
    near = near_samples(rows, np.array([1.0, 0.0], dtype=np.float32))
    tally = tally_votes(rows, near, now=0.0)
    assert tally["email"].samples == pytest.approx(0.8**8)
    assert set(tally["email"].choices) == {"ann", "bob"}
    assert tally.get("delete", Tally()).total == 0.0


def test_an_api_that_one_client_chose_is_not_covered(tmp_path: Path) -> None:
    store = IntentStore(tmp_path / "samples.db")
    say(store, "acme", "ann", 0, "email", "chosen")
    say(store, "acme", "ann", 1, "email", "chosen")
    assert store.of_model("m@1", "acme").covered == frozenset()
    say(store, "acme", "bob", 0, "email", "chosen")
    assert store.of_model("m@1", "acme").covered == {"email"}
    assert store.of_model("m@1", "globex").covered == frozenset()


@pytest.mark.parametrize("whose", ["acme", None])
def test_what_is_forgotten_is_in_no_file_while_a_server_has_them_open(
    tmp_path: Path, whose: str | None
) -> None:
    log, store = AnswerLog(tmp_path / "answers.db"), IntentStore(tmp_path / "samples.db")
    log.remember(RememberedAnswer(SECRET, "acme", (), "hybrid", ("email",)))
    store.put([Intent(SECRET, "email")], [AXES[0]], "m@1", Chooser("ann", "acme"))
    reader = sqlite3.connect(tmp_path / "samples.db")
    assert reader.execute("SELECT count(*) FROM intents").fetchone() == (1,)
    assert b"ZEBRASECRET" in b"".join(file.read_bytes() for file in tmp_path.iterdir())
    other = AnswerLog(tmp_path / "answers.db")
    assert (other.forget(whose), store.forget(whose)) == (1, 1)
    assert b"ZEBRASECRET" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
    reader.close()
    log.close()
    other.close()


def test_the_id_of_an_answer_cannot_be_guessed_from_what_was_asked(tmp_path: Path) -> None:
    answer = RememberedAnswer("how do I fire Bob", "acme", ("boss",), "hybrid", ("fire",))
    first, second = AnswerLog(tmp_path / "a.db"), AnswerLog(tmp_path / "b.db")
    name = first.remember(answer)
    assert first.remember(answer) == name, "the same answer to the same people has one id"
    assert second.remember(answer) != name
    assert answer.id != name
    assert first.find(answer.id, "acme") is None
    assert first.find(name, "acme") == answer
    first.close()
    again = AnswerLog(tmp_path / "a.db")
    assert again.remember(answer) == name, "the secret is kept with the answers"
    assert again.find(name, "globex") is None
    again.close()
    second.close()
