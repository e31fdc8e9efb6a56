"""The queue of a model: rows of all requests, batched by length, with a fair share for each request.

Smaller jobs may overtake larger ones for a limited time; batches are filled up.
"""

from __future__ import annotations

import threading
import time
from bisect import insort
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kitpick_models.batching import Row, padded_length
from kitpick_models.settings import RuntimeSettings
from kitpick_service.errors import (
    Cancelled,
    DeadlinePassed,
    DoneInPart,
    NotInTime,
    Overloaded,
    Unready,
)
from kitpick_service.ticket import Ticket

Array = NDArray[np.float32]


class Job:
    """Rows of one request by padded length, and the numbers that came back. Guarded by the queue's lock."""

    def __init__(self, rows: Sequence[Row], ticket: Ticket, bucket: int) -> None:
        self.rows = rows
        self.ticket = ticket
        self.by_length: dict[int, list[int]] = {}
        for position, row in enumerate(rows):
            self.by_length.setdefault(padded_length(len(row.ids), bucket), []).append(position)
        self.waiting = sum(length * len(members) for length, members in self.by_length.items())
        """Padded tokens that are not yet being processed."""
        self.running = 0
        """Rows that are being worked on."""
        self.due = 0
        """When it should be done, in padded tokens that the queue has worked on."""
        self.finished = threading.Event()
        self.error: Exception | None = None
        self.entered = time.perf_counter()
        self.begun: float | None = None
        self._out: Array | None = None
        self._done = np.zeros(len(rows), np.bool_)

    def take(self, length: int, most: int) -> list[int]:
        """Takes at most `most` rows of this length for processing, and returns their positions."""
        members = self.by_length[length]
        taken, rest = members[:most], members[most:]
        if rest:
            self.by_length[length] = rest
        else:
            del self.by_length[length]
        self.waiting -= length * len(taken)
        self.running += len(taken)
        if self.begun is None:
            self.begun = time.perf_counter()
        return taken

    def put(self, positions: Sequence[int], numbers: Array) -> None:
        """Stores the numbers (n, …) of rows; the last ones finish the job."""
        if self._out is None:
            self._out = np.empty((len(self.rows), *numbers.shape[1:]), np.float32)
        self._out[list(positions)] = numbers
        self._done[list(positions)] = True
        self.running -= len(positions)
        if self.complete:
            self.finished.set()

    def fail(self, error: Exception) -> None:
        """Ends the job with an error for its caller."""
        self.error = self.error or error
        self.by_length.clear()
        self.waiting = 0
        self.finished.set()

    def stop(self, reason: Exception) -> None:
        """Ends the job because nobody waits any more: after a deadline with the numbers that are there."""
        if isinstance(reason, DeadlinePassed) and self._out is not None and self._out.ndim == 1:
            part = DoneInPart(str(reason))
            part.logits = np.where(self._done, self._out, np.nan).astype(np.float64)
            reason = part
        self.fail(reason)

    @property
    def complete(self) -> bool:
        """Whether the numbers of all rows are stored."""
        return self.error is None and not self.by_length and not self.running

    @property
    def numbers(self) -> Array:
        """The numbers of all rows, (n, …).

        Raises:
            Exception: whatever the model raised.
        """
        if self.error is not None:
            raise self.error
        assert self._out is not None, "a job with rows that finished has numbers"
        return self._out


JobBatch = list[tuple[Job, list[int]]]
"""Jobs with positions of their rows, all of one padded length."""


class Schedule:
    """Jobs by their due time. Guarded by the queue's lock.

    Time is counted in padded tokens worked on. A job is due when as many as it has itself were done since it
    came: the earliest is served first, batch by batch (compare Zhang, VirtualClock, 1990). So a request of
    five documents goes before a thousand that came shortly before it, while those thousand are overtaken
    only by what comes until as much work was done as they are themselves, however many small ones follow.

    The job that is served decides the length; rows of the same length of those behind it fill the batch up.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._now = 0
        self._jobs: list[Job] = []

    def __len__(self) -> int:
        return len(self._jobs)

    @property
    def waiting(self) -> int:
        """Padded tokens of all jobs."""
        return sum(job.waiting for job in self._jobs)

    def until_done(self, tokens: int) -> int:
        """Padded tokens to process until a job of `tokens` would be done if it came now.

        Its own, those due before it, and as many again that may yet overtake it.
        """
        due = self._now + tokens
        return 2 * tokens + sum(job.waiting for job in self._jobs if job.due <= due)

    def add(self, job: Job) -> None:
        """Adds a job behind those that are due before it; a probe is due at once."""
        job.due = 0 if job.ticket.probe else self._now + job.waiting
        insort(self._jobs, job, key=lambda other: other.due)

    def remove(self, job: Job) -> None:
        """Removes a job that was cancelled."""
        if job in self._jobs:
            self._jobs.remove(job)

    def next_batch(self) -> tuple[int, JobBatch]:
        """The padded length and the rows of the next batch; (0, []) if there is none."""
        while self._jobs:
            first = self._jobs[0]
            lapsed = first.ticket.lapsed()
            if lapsed is not None:
                first.stop(lapsed)
            if not first.by_length:
                self._jobs.pop(0)
                continue
            # The first row that waits is the most wanted one: should the time not do for all.
            length = min(first.by_length, key=lambda key: first.by_length[key][0])
            return length, self._fill(length)
        return 0, []

    def _fill(self, length: int) -> JobBatch:
        room = max(1, self._budget // length)
        batch: JobBatch = []
        for job in self._jobs:
            if room and length in job.by_length and job.ticket.lapsed() is None:
                taken = job.take(length, room)
                room -= len(taken)
                self._now += length * len(taken)
                batch.append((job, taken))
        return batch


_MEMORY = 0.2
"""Weight of the last batch in the estimate of the model's speed."""
_HEADROOM = 1.5
"""A job is taken if a model slower by this factor would do it in time: others may need the machine."""
_LARGE = 16
"""Batches of a job that is refused even on an idle queue where it cannot be done in time."""
_MARGIN = 0.03
"""Seconds before its deadline at which a job is given up: an answer without it has to be made, too."""
_IN_PART = 1.1
"""The same for the number of rows that are begun: what the deadline cuts off costs only itself."""


class BatchModel(Protocol):
    """A model as a queue runs it; one object for each session."""

    settings: RuntimeSettings

    def run(self, rows: Sequence[Row], length: int) -> Array:
        """Numbers (n, …) of rows in one batch, each padded to `length` tokens."""


class QueueObserver(Protocol):
    """Receives the events of a queue, for metrics."""

    def batch(self, rows: int, tokens: int, room: int, seconds: float) -> None:
        """A batch was run: its padded tokens, the budget of tokens, and its seconds."""

    def job(self, waited: float, rows: int) -> None:
        """A job was begun after waiting this number of seconds."""

    def refused(self, reason: str) -> None:
        """A job was refused or abandoned: `overloaded`, `deadline`, `cancelled`."""


class ModelQueue:
    """Batches the rows of many requests. Safe to use from several threads.

    A row's numbers do not depend on what shares its batch, so answers are the same as without a queue.
    """

    def __init__(
        self,
        name: str,
        sessions: Sequence[BatchModel],
        threads: int,
        observer: QueueObserver,
        most_waiting: int,
    ) -> None:
        """`most_waiting` padded tokens of all jobs together; about 16 bytes each."""
        self.name = name
        self._settings = sessions[0].settings
        self._schedule = Schedule(self._settings.batch_tokens)
        self._observer = observer
        self._most_waiting = most_waiting
        self._ready = threading.Condition()
        self._closed = False
        self._inside = 0
        self._slots = [session for session in sessions for _ in range(threads)]
        self._speed = 0.0
        self._threads = [
            threading.Thread(target=self._work, args=(session,), name=f"kitpick-{name}-{number}", daemon=True)
            for number, session in enumerate(self._slots)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def waiting_tokens(self) -> int:
        """Padded tokens that are not yet being processed."""
        with self._ready:
            return self._schedule.waiting

    @property
    def waiting_seconds(self) -> float:
        """How long this queue needs for what is waiting, at its own speed; 0 before the first batch."""
        speed = self._speed
        return self.waiting_tokens / speed if speed else 0.0

    @property
    def waiting_jobs(self) -> int:
        """Requests with rows that are not yet being processed."""
        with self._ready:
            return len(self._schedule)

    @property
    def busy(self) -> bool:
        """Whether a request waits for rows, also for those that are being processed."""
        return self._inside > 0

    @property
    def speed(self) -> float:
        """Padded tokens a second of all sessions together; 0 before the first batch."""
        return self._speed

    def rows_in_time(self, tokens: float, ticket: Ticket) -> int | None:
        """How many rows of so many padded tokens this queue would do before the deadline, a little to spare.

        None where nothing was measured yet, and while work waits: then what is too much is refused.
        """
        if not self._speed or self.waiting_tokens:
            return None
        return max(0, int((ticket.left - _MARGIN) / _IN_PART * self._speed / tokens))

    def warm_up(self, longest: int, seconds: float) -> None:
        """Runs full batches of rows of up to `longest` tokens, as many side by side as under load.

        The first passes are several times slower than later ones: without this they would decide which of the
        first requests are refused. No pass begins after `seconds`.

        Raises:
            ModelError: the model fails on one of these lengths.
        """
        until = time.perf_counter() + seconds
        lengths = _lengths_up_to(longest, self._settings.bucket)
        with ThreadPoolExecutor(len(self._slots)) as pool:
            passes = [pool.submit(self._warm_one_up, session, lengths, until) for session in self._slots]
        for each in passes:
            each.result()

    def run(self, rows: Sequence[Row], ticket: Ticket) -> Array:
        """Runs rows and returns their numbers (n, …), in their order.

        Raises:
            Overloaded: too much is waiting, or not enough time is left. Nothing was done.
            NotInTime: nothing is waiting, and these rows alone are too many for the time that is left.
            DoneInPart: the deadline passed while they were worked on; it holds what was done.
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
            self._inside += 1
            self._ready.notify(len(job.by_length))

    def _require_room(self, job: Job) -> None:
        """Refuses work that cannot be done in time, before it is begun."""
        waiting = self._schedule.waiting
        speed = self._speed
        if waiting and waiting + job.waiting > self._most_waiting:
            self._observer.refused("overloaded")
            raise Overloaded(f"{waiting:,} tokens are waiting", waiting / speed if speed else 1)
        seconds = self._seconds_for(job) if speed else 0.0
        left = job.ticket.left
        if _HEADROOM * seconds > left:
            self._observer.refused("overloaded")
            refusal = Overloaded if waiting else NotInTime
            raise refusal(
                f"{waiting:,} tokens are waiting, {job.waiting:,} come with this request: {seconds:.1f} s, "
                f"{left:.1f} s left",
                seconds - left / _HEADROOM,
            )

    def _seconds_for(self, job: Job) -> float:
        """Seconds until the job would be done if it were accepted.

        On an idle queue only what is large is judged: small jobs show the speed again should it have been
        measured in a bad moment, so that nothing is refused for ever.
        """
        if self._schedule.waiting:
            return self._schedule.until_done(job.waiting) / self._speed
        large = job.waiting > _LARGE * self._settings.batch_tokens
        return job.waiting / self._speed if large else 0.0

    def _leave(self, job: Job) -> None:
        """Removes everything of a job from the queue."""
        with self._ready:
            self._inside -= 1
            if job.complete:
                self._note_done(job)
                return
            self._schedule.remove(job)
            job.stop(job.ticket.lapsed() or DeadlinePassed("not done in time"))
        if isinstance(job.error, (Cancelled, DeadlinePassed)):
            self._observer.refused("cancelled" if job.ticket.cancelled else "deadline")

    def _note_done(self, job: Job) -> None:
        begun = job.begun or job.entered
        job.ticket.waited += begun - job.entered
        job.ticket.in_models += time.perf_counter() - job.entered
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

    def _run(self, session: BatchModel, length: int, batch: JobBatch) -> None:
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

    def _isolate(self, session: BatchModel, length: int, batch: JobBatch, error: Exception) -> None:
        """Runs the jobs of a failed batch one by one, so that a faulty one does not fail the others."""
        if len(batch) > 1:
            for part in batch:
                self._run(session, length, [part])
            return
        with self._ready:
            batch[0][0].fail(error)

    def _warm_one_up(self, session: BatchModel, lengths: Sequence[int], until: float) -> None:
        """Runs each length twice; the second pass measures the speed."""
        for length in (*lengths, *lengths):
            rows = _full_batch(length, self._settings.batch_tokens)
            started = time.perf_counter()
            if started >= until:
                return
            session.run(rows, length)
            self._note_speed(length * len(rows), time.perf_counter() - started)

    def _note_speed(self, tokens: int, seconds: float) -> None:
        now = tokens * len(self._slots) / max(seconds, 1e-6)
        self._speed = now if not self._speed else self._speed + _MEMORY * (now - self._speed)


def _lengths_up_to(longest: int, bucket: int) -> list[int]:
    """Padded lengths from one bucket on, each twice the one before, and that of the longest row."""
    lengths = [bucket]
    while lengths[-1] < longest:
        lengths.append(min(2 * lengths[-1], padded_length(longest, bucket)))
    return lengths


def _full_batch(length: int, budget: int) -> list[Row]:
    """Rows of this length, as many as fit a budget of tokens. Their content does not matter for time."""
    ids = np.zeros(length, np.int64)
    return [Row(ids, ids)] * max(1, budget // length)
