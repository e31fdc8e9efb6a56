"""A trial: two profiles answer live requests together, and the choices of users tell which is better.

Both profiles search, and their hits are interleaved (`kitpick_evaluation.interleaving`), so both serve the
same people. Feedback counts from every interface (`Catalog.feedback`). If the baseline is surely better, the
trial ends by itself: from then on the baseline answers alone.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec.structs import replace

from kitpick.result import SearchResult
from kitpick_engines.errors import EngineUnavailable
from kitpick_engines.text import storable
from kitpick_evaluation.interleaving import Drafted, Score, Team, team_draft
from kitpick_foundation.decoding import decode_as
from kitpick_foundation.disk import BUSY_SECONDS, connect_beside, cure, is_frozen, use_write_ahead_log
from kitpick_foundation.errors import KitpickError
from kitpick_foundation.fork_gate import FORKS_WAIT
from kitpick_foundation.forks import fork_lock
from kitpick_rescorers.intents.store import require_empty_log
from kitpick_rescorers.state import Degradation, joined

State = Literal["running", "promoted", "stopped", "guarded"]
MAX_ANSWERS = 200_000
"""Answers of which a trial remembers who drew which hit: the latest."""
_TABLES = """
CREATE TABLE IF NOT EXISTS plan (one INTEGER PRIMARY KEY CHECK (one = 1), plan BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS drawn (
    answer TEXT NOT NULL, tenant TEXT NOT NULL, api TEXT NOT NULL, team TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (answer, tenant, api)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS drawn_by_age ON drawn (at);
CREATE TABLE IF NOT EXISTS chosen (
    answer TEXT NOT NULL, tenant TEXT NOT NULL, api TEXT NOT NULL, client TEXT NOT NULL,
    PRIMARY KEY (answer, tenant, api, client)
) WITHOUT ROWID;
"""
_DAY = 86_400.0
_TIDIED = 100
"""Answers of a process between two times that the oldest are removed."""
_FORGETS = (
    "DELETE FROM drawn WHERE (:until IS NULL OR at < :until) AND (:tenant IS NULL OR tenant = :tenant)",
    "DELETE FROM chosen WHERE (:tenant IS NULL OR tenant = :tenant) "
    "AND (answer, tenant) NOT IN (SELECT answer, tenant FROM drawn)",
)
_SCORES = """
SELECT tenant, points, count(*) FROM (
    SELECT drawn.tenant AS tenant, drawn.answer,
        sum(CASE drawn.team WHEN 'candidate' THEN 1 ELSE -1 END) AS points
    FROM drawn JOIN (SELECT DISTINCT answer, tenant, api FROM chosen) AS picked
        ON picked.answer = drawn.answer AND picked.tenant = drawn.tenant AND picked.api = drawn.api
    GROUP BY drawn.tenant, drawn.answer
) GROUP BY tenant, CASE WHEN points > 0 THEN 1 WHEN points < 0 THEN -1 ELSE 0 END
"""


class InvalidTrial(KitpickError):
    """A trial that is not there, or cannot begin."""


class TrialPlan(msgspec.Struct, frozen=True):
    """What is compared, and how sure the result has to be."""

    baseline: str
    """Profile that answers today: a shipped name or a file."""
    candidate: str
    alpha: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.05
    """Probability of a wrong result, over all looks."""
    state: State = "running"


class TrialReport(msgspec.Struct, frozen=True):
    """What a trial says so far."""

    plan: TrialPlan
    answers: int
    """Answers that both profiles gave together."""
    clients: int
    """Different clients that chose something."""
    score: Score
    by_tenant: Mapping[str, Score]
    interval: tuple[float, float]
    """Share of decided answers that fall to the candidate: valid whenever it is looked at."""
    evidence: float
    """How many times likelier the score is than if both were equal."""
    winner: Team | None
    summary: str
    """The result in words."""


class ProfileTrial:
    """A trial in a SQLite file. Safe to use from several threads and processes.

    Whatever reads it raises `InvalidTrial` where there is none, `EngineUnavailable` where its file cannot be
    read or written.
    """

    def __init__(self, path: Path) -> None:
        """Opens the file when it is first used."""
        self.path = path
        self._lock = fork_lock()
        self._remembered = 0

    def start(self, plan: TrialPlan) -> None:
        """Begins a trial.

        Raises:
            InvalidTrial: both profiles are one, or the file holds a trial already, or something else.
            EngineUnavailable: the file cannot be written.
        """
        if plan.baseline == plan.candidate:
            raise InvalidTrial(
                f"a trial compares two profiles: baseline and candidate are both {plan.baseline!r}"
            )
        with self._connection(make=True) as connection:
            connection.executescript(_TABLES)
            if connection.execute("SELECT 1 FROM plan").fetchone():
                raise InvalidTrial(
                    f"{self.path}: holds a trial already: take another file, or remove this one"
                )
            connection.execute("INSERT INTO plan VALUES (1, ?)", (msgspec.json.encode(plan),))

    @property
    def plan(self) -> TrialPlan:
        """What is compared, and how far it is."""
        with self._connection() as connection:
            return self._plan(connection)

    def end(self, state: State) -> TrialPlan:
        """Ends the trial: `promoted` lets the candidate answer alone, anything else the baseline."""
        with self._connection() as connection:
            plan = replace(self._plan(connection), state=state)
            connection.execute("UPDATE plan SET plan = ?", (msgspec.json.encode(plan),))
        return plan

    def answer(
        self, by: Callable[[str], SearchResult], otherwise: str
    ) -> tuple[SearchResult, list[Drafted[str]]]:
        """The answer to one request: of both profiles while the trial runs, else of the one that won.

        A candidate that fails costs the trial this answer, and the user nothing: `degraded` says so, also
        where the trial itself cannot be read: then the profile `otherwise` answers.
        """
        try:
            plan = self.plan
        except KitpickError as error:
            return _without(by(otherwise), str(error)), []
        if plan.state != "running":
            return by(plan.candidate if plan.state == "promoted" else plan.baseline), []
        baseline = by(plan.baseline)
        try:
            candidate = by(plan.candidate)
        except KitpickError as error:
            return _without(baseline, f"the candidate {plan.candidate} gave no answer: {error}"), []
        most = max(len(baseline.hits), len(candidate.hits))
        return interleave(baseline, candidate, most, random.Random())

    def remembered(self, found: SearchResult, tenant: str, drafted: Sequence[Drafted[str]]) -> SearchResult:
        """The answer, after `remember`; one that cannot be remembered says so, and is given all the same."""
        try:
            self.remember(found.id, tenant, drafted)
        except KitpickError as error:
            return _without(found, str(error))
        return found

    def remember(self, answer: str, tenant: str, drafted: Sequence[Drafted[str]]) -> None:
        """Remembers which profile drew which API of an answer; the first time counts.

        An answer without an id, or of one profile alone, says nothing of the two.
        """
        if not answer or not drafted:
            return
        tenant = storable(tenant)
        rows = [(answer, tenant, each.item, each.team, time.time()) for each in drafted]
        with self._connection() as connection:
            connection.executemany("INSERT OR IGNORE INTO drawn VALUES (?, ?, ?, ?, ?)", rows)
            self._remembered += 1
            if self._remembered % _TIDIED == 1:
                _forget_oldest(connection)

    def choose(self, answers: Iterable[str], tenant: str, apis: Iterable[str], client: str) -> None:
        """Counts what a client chose from answers; ends the trial where the baseline is surely better.

        Where there is no trial (any more), nothing is counted.
        """
        if not self.path.is_file():
            return
        tenant = storable(tenant)
        rows = [(answer, tenant, api, storable(client)) for answer in answers for api in apis]
        with self._connection() as connection:
            connection.executemany("INSERT OR IGNORE INTO chosen VALUES (?, ?, ?, ?)", rows)
            plan = self._plan(connection)
            score = _total(_scores(connection).values())
            if plan.state == "running" and score.winner(plan.alpha) == "baseline":
                guarded = msgspec.json.encode(replace(plan, state="guarded"))
                connection.execute("UPDATE plan SET plan = ?", (guarded,))

    def forget(self, tenant: str | None = None, older_than_days: float | None = None) -> None:
        """Removes answers and what was chosen from them; what is compared stays.

        Where there is no trial (any more), nothing is removed.

        Args:
            tenant: of this tenant alone; None for all.
            older_than_days: only what is older; None for any age.
        """
        if not self.path.is_file():
            return
        tenant = None if tenant is None else storable(tenant)
        until = None if older_than_days is None else time.time() - older_than_days * _DAY
        with self._connection() as connection:
            for statement in _FORGETS:
                connection.execute(statement, {"tenant": tenant, "until": until})
            connection.commit()
            require_empty_log(connection, self.path)

    def report(self) -> TrialReport:
        """What users chose so far, over all and by tenant."""
        with self._connection() as connection:
            plan, by_tenant = self._plan(connection), _scores(connection)
            (answers,) = connection.execute(
                "SELECT count(*) FROM (SELECT DISTINCT answer, tenant FROM drawn)"
            ).fetchone()
            (clients,) = connection.execute("SELECT count(DISTINCT client) FROM chosen").fetchone()
        score = _total(by_tenant.values())
        winner = score.winner(plan.alpha)
        return TrialReport(
            plan,
            answers,
            clients,
            score,
            by_tenant,
            score.interval(plan.alpha),
            score.evidence(),
            winner,
            _summary(plan, score, winner, answers),
        )

    def _plan(self, connection: sqlite3.Connection) -> TrialPlan:
        row = connection.execute("SELECT plan FROM plan").fetchone()
        if row is None:
            raise self._none()
        return decode_as(row[0], TrialPlan)

    def _none(self) -> InvalidTrial:
        return InvalidTrial(f"{self.path}: holds no trial: `kitpick trial start {self.path}` begins one")

    def _something_else(self) -> InvalidTrial:
        return InvalidTrial(
            f"{self.path}: is a database of something else: name a file that is not there yet"
        )

    @contextmanager
    def _connection(self, make: bool = False) -> Iterator[sqlite3.Connection]:
        if not make and not self.path.is_file():
            raise self._none()
        if make and not self.path.absolute().parent.is_dir():
            raise EngineUnavailable(f"{self.path}: there is no such folder: make it, or name another file")
        try:
            with FORKS_WAIT, self._lock, closing(connect_beside(self.path)) as connection, connection:
                tables = _tables(connection)
                if "plan" not in tables and (tables or not make):
                    raise self._something_else() if make else self._none()
                if not is_frozen(self.path):
                    use_write_ahead_log(connection, BUSY_SECONDS)
                    connection.execute("PRAGMA secure_delete = ON")
                yield connection
        except sqlite3.Error as error:
            why = f"{error}{cure(error, self.path)}"
            raise EngineUnavailable(f"{self.path}: the trial cannot be read or written: {why}") from error


def _forget_oldest(connection: sqlite3.Connection) -> None:
    """Keeps as many as are to be remembered; it reads past all of them."""
    oldest = "SELECT at FROM drawn ORDER BY at DESC LIMIT 1 OFFSET ?"
    connection.execute(f"DELETE FROM drawn WHERE at < ({oldest})", (MAX_ANSWERS * 5,))  # noqa: S608


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _without(result: SearchResult, why: str) -> SearchResult:
    return replace(result, degraded=(*result.degraded, Degradation("trial", why)))


def interleave(
    baseline: SearchResult, candidate: SearchResult, most: int, draws: random.Random
) -> tuple[SearchResult, list[Drafted[str]]]:
    """One answer of two: hits in the order in which they were drawn, and who drew each.

    Everything but the hits is as the baseline says it; `degraded` names what went wrong in either.
    """
    results: dict[Team, SearchResult] = {"baseline": baseline, "candidate": candidate}
    hits = {team: {hit.document.id: hit for hit in found.hits} for team, found in results.items()}
    drafted = team_draft(list(hits["baseline"]), list(hits["candidate"]), most, draws)
    joint = replace(
        baseline,
        profile=f"{baseline.profile}|{candidate.profile}",
        hits=tuple(
            replace(hits[each.team][each.item], rank=rank) for rank, each in enumerate(drafted, start=1)
        ),
        degraded=joined(baseline.degraded, candidate.degraded),
        slimmed=baseline.slimmed | candidate.slimmed,
    )
    return joint, drafted


def _scores(connection: sqlite3.Connection) -> dict[str, Score]:
    found: dict[str, Score] = {}
    for tenant, points, count in connection.execute(_SCORES):
        name = "tied" if points == 0 else "candidate" if points > 0 else "baseline"
        found[tenant] = replace(found.get(tenant, Score()), **{name: count})
    return found


def _total(scores: Iterable[Score]) -> Score:
    listed = list(scores)
    return Score(
        sum(score.baseline for score in listed),
        sum(score.candidate for score in listed),
        sum(score.tied for score in listed),
    )


def _summary(plan: TrialPlan, score: Score, winner: Team | None, answers: int) -> str:
    if not answers:
        return "no answer was given yet to which both contributed"
    if score.share is None:
        return "nobody has said yet of a tool that one of the two found that it did the job"
    said = (
        f"users chose what {plan.candidate} found in {score.candidate:,} of {score.decided:,} decided answers"
    )
    if winner is None:
        return f"{said}: that does not say yet which is better"
    better = plan.candidate if winner == "candidate" else plan.baseline
    return f"{said}: {better} is better, and that is wrong with probability {plan.alpha:g} at most"
