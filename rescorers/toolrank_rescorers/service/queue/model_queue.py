"""The queue of one model, and the threads that work it off."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolrank_models.rows import Row
from toolrank_models.settings import RuntimeSettings
from toolrank_rescorers.service.errors import Cancelled, DeadlinePassed, Overloaded, Unready
from toolrank_rescorers.service.queue.job import Job
from toolrank_rescorers.service.queue.schedule import Batch, Schedule
from toolrank_rescorers.service.queue.warming import full_batch, lengths_up_to
from toolrank_rescorers.service.ticket import Ticket

Array = NDArray[np.float32]

_MEMORY = 0.2
"""Weight of the last batch in the estimate of the model's speed."""
_HEADROOM = 1.5
"""A job is taken if a model so many times slower would do it in time: others may need the machine."""
_MARGIN = 0.01
"""Seconds before its deadline at which a job is given up: an answer without it has to get out, too."""


class BatchModel(Protocol):
    """What a queue works with; one such object a session."""

    settings: RuntimeSettings

    def run(self, rows: Sequence[Row], length: int) -> Array:
        """Numbers (n, …) of rows in one batch, each padded to `length` tokens."""


class Observer(Protocol):
    """Is told what a queue does, for metrics."""

    def batch(self, rows: int, tokens: int, room: int, seconds: float) -> None:
        """A batch of so many padded tokens, of a budget of so many, took so long."""

    def job(self, waited: float, rows: int) -> None:
        """A job waited so many seconds before its first row was worked on."""

    def refused(self, reason: str) -> None:
        """A job was not taken, or given up: `overloaded`, `deadline`, `cancelled`."""


class QueueLimits(msgspec.Struct, frozen=True):
    """What may wait."""

    waiting_tokens: int = 600_000
    """Padded tokens of all jobs together; about 16 bytes each."""


class ModelQueue:
    """Batches the rows of many requests. Safe to use from several threads.

    A row's numbers do not depend on what shares its batch, so answers are the same as without a queue.
    """

    def __init__(
        self,
        name: str,
        sessions: Sequence[BatchModel],
        threads: int,
        observer: Observer,
        limits: QueueLimits = QueueLimits(),  # noqa: B008 - frozen
    ) -> None:
        self.name = name
        self._settings = sessions[0].settings
        self._schedule = Schedule(self._settings.batch_tokens)
        self._observer = observer
        self._limits = limits
        self._ready = threading.Condition()
        self._closed = False
        self._slots = [session for session in sessions for _ in range(threads)]
        self._speed = 0.0
        self._threads = [
            threading.Thread(
                target=self._work, args=(session,), name=f"toolrank-{name}-{number}", daemon=True
            )
            for number, session in enumerate(self._slots)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def waiting_tokens(self) -> int:
        """Padded tokens that nobody has begun to work on."""
        with self._ready:
            return self._schedule.waiting

    @property
    def waiting_jobs(self) -> int:
        """Requests with rows that nobody has begun to work on."""
        with self._ready:
            return len(self._schedule)

    @property
    def speed(self) -> float:
        """Padded tokens a second of all sessions together; 0 as long as nothing was run."""
        return self._speed

    def warm_up(self, longest: int, seconds: float) -> None:
        """Runs full batches of rows of up to `longest` tokens, as many side by side as under load.

        The first passes are several times slower than later ones: without this they would decide which of the
        first requests are refused. No pass begins after `seconds`.

        Raises:
            ModelError: the model fails on one of these lengths.
        """
        until = time.perf_counter() + seconds
        lengths = lengths_up_to(longest, self._settings.bucket)
        with ThreadPoolExecutor(len(self._slots)) as pool:
            passes = [pool.submit(self._warm_one_up, session, lengths, until) for session in self._slots]
        for each in passes:
            each.result()

    def run(self, rows: Sequence[Row], ticket: Ticket) -> Array:
        """Numbers (n, …) of the rows, in their order; waits until they are there.

        Raises:
            Overloaded: too much is waiting, or not enough time is left. Nothing was done.
            DeadlinePassed, Cancelled: nobody waits any more; what had not begun is not done.
            Unready: the queue was closed.
            ModelError: the model failed on these rows.
        """
        ticket.check()
        if not rows:
            return np.empty(0, np.float32)
        job = Job(rows, ticket, self._settings.bucket)
        ticket.tokens += sum(len(row.ids) for row in rows)
        self._enter(job)
        with ticket.waking(job.finished):
            job.finished.wait(max(0.0, ticket.left - _MARGIN))
        self._leave(job)
        return job.numbers

    def close(self) -> None:
        """Refuses new jobs, finishes those that wait, and ends the threads."""
        with self._ready:
            self._closed = True
            self._ready.notify_all()
        for thread in self._threads:
            thread.join()

    def _enter(self, job: Job) -> None:
        with self._ready:
            if self._closed:
                raise Unready("this copy is about to stop")
            if not job.ticket.probe:
                self._require_room(job)
            self._schedule.add(job)
            self._ready.notify(len(job.by_length))

    def _require_room(self, job: Job) -> None:
        """Refuses what cannot be done in time, before anything is spent on it."""
        waiting = self._schedule.waiting
        speed = self._speed
        if waiting and waiting + job.waiting > self._limits.waiting_tokens:
            self._observer.refused("overloaded")
            raise Overloaded(f"{waiting:,} tokens are waiting", waiting / speed if speed else 1)
        seconds = self._schedule.until_done(job.waiting) / speed if waiting and speed else 0.0
        left = job.ticket.left
        if _HEADROOM * seconds > left:
            self._observer.refused("overloaded")
            raise Overloaded(
                f"{waiting:,} tokens are waiting: {seconds:.1f} s, {left:.1f} s left",
                seconds - left / _HEADROOM,
            )

    def _leave(self, job: Job) -> None:
        """Whatever happened, nothing of the job stays in the queue."""
        with self._ready:
            if job.complete:
                self._note_done(job)
                return
            self._schedule.remove(job)
            job.fail(job.ticket.lapsed() or DeadlinePassed("not done in time"))
        if isinstance(job.error, (Cancelled, DeadlinePassed)):
            self._observer.refused("cancelled" if job.ticket.cancelled else "deadline")

    def _note_done(self, job: Job) -> None:
        begun = job.begun or job.entered
        job.ticket.waited += begun - job.entered
        job.ticket.spent(f"wait for {self.name}", job.entered, begun)
        job.ticket.spent(f"run {self.name}", begun)
        self._observer.job(begun - job.entered, len(job.rows))

    def _work(self, session: BatchModel) -> None:
        """One thread: batches until the queue is closed and empty."""
        while True:
            with self._ready:
                length, batch = self._schedule.next_batch()
                while not batch and not self._closed:
                    self._ready.wait()
                    length, batch = self._schedule.next_batch()
            if not batch:
                return
            self._run(session, length, batch)

    def _run(self, session: BatchModel, length: int, batch: Batch) -> None:
        started = time.perf_counter()
        try:
            numbers = session.run([job.rows[row] for job, rows in batch for row in rows], length)
        except Exception as error:  # noqa: BLE001 - it belongs to a request, not to this thread
            self._isolate(session, length, batch, error)
            return
        count, seconds = len(numbers), time.perf_counter() - started
        self._observer.batch(count, length * count, self._settings.batch_tokens, seconds)
        self._note_speed(length * count, seconds)
        with self._ready:
            start = 0
            for job, rows in batch:
                job.put(rows, numbers[start : start + len(rows)])
                start += len(rows)

    def _isolate(self, session: BatchModel, length: int, batch: Batch, error: Exception) -> None:
        """One request's rows must not fail another's: alone, each shows whose fault it is."""
        if len(batch) > 1:
            for part in batch:
                self._run(session, length, [part])
            return
        with self._ready:
            batch[0][0].fail(error)

    def _warm_one_up(self, session: BatchModel, lengths: Sequence[int], until: float) -> None:
        """Twice each: the second pass of a length tells the speed."""
        for length in (*lengths, *lengths):
            rows = full_batch(length, self._settings.batch_tokens)
            started = time.perf_counter()
            if started >= until:
                return
            session.run(rows, length)
            self._note_speed(length * len(rows), time.perf_counter() - started)

    def _note_speed(self, tokens: int, seconds: float) -> None:
        now = tokens * len(self._slots) / max(seconds, 1e-6)
        self._speed = now if not self._speed else self._speed + _MEMORY * (now - self._speed)
