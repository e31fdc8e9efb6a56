"""Who goes next: turns of a fixed size, and batches of one length filled with whatever fits."""

from __future__ import annotations

from collections import deque

from toolrank_rescorers.service.queue.job import Job

TURN_BATCHES = 8
"""Batches a job may fill before the next one has its turn: what most requests need is done in one turn."""

Batch = list[tuple[Job, list[int]]]
"""Jobs with positions of their rows, all of one padded length."""


class Schedule:
    """Jobs in turn (deficit round robin, Shreedhar & Varghese 1995). Guarded by the queue's lock.

    The job whose turn it is decides the length; rows of the same length of those behind it fill the batch up.
    So a request of a thousand documents delays one of five by a turn, and batches are full under load.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._turn = TURN_BATCHES * budget
        self._jobs: deque[Job] = deque()

    def __len__(self) -> int:
        return len(self._jobs)

    @property
    def waiting(self) -> int:
        """Padded tokens of all jobs."""
        return sum(job.waiting for job in self._jobs)

    def ahead_of(self, tokens: int) -> int:
        """Padded tokens that are worked on before the last of a job of so many, were it to come now."""
        turns = -(-tokens // self._turn)
        return sum(min(job.waiting, turns * self._turn) for job in self._jobs)

    def add(self, job: Job) -> None:
        """A job at the end of the line."""
        job.turn = self._turn
        self._jobs.append(job)

    def remove(self, job: Job) -> None:
        """Takes a job out that nobody waits for any more."""
        if job in self._jobs:
            self._jobs.remove(job)

    def next_batch(self) -> tuple[int, Batch]:
        """The padded length and the rows to work on next; (0, []) when there is nothing to do."""
        while self._jobs:
            head = self._jobs[0]
            lapsed = head.ticket.lapsed()
            if lapsed is not None:
                head.fail(lapsed)
            if not head.by_length:
                self._jobs.popleft()
                continue
            length = max(head.by_length, key=lambda key: (len(head.by_length[key]), key))
            batch = self._fill(length)
            self._pass_on(head)
            return length, batch
        return 0, []

    def _fill(self, length: int) -> Batch:
        room = max(1, self._budget // length)
        batch: Batch = []
        for job in self._jobs:
            if room and length in job.by_length and job.ticket.lapsed() is None:
                taken = job.take(length, room)
                room -= len(taken)
                job.turn -= length * len(taken)
                batch.append((job, taken))
        return batch

    def _pass_on(self, head: Job) -> None:
        """Ends the turn of a job that has used it up."""
        if head.turn <= 0 and head.by_length:
            head.turn += self._turn
            self._jobs.rotate(-1)
