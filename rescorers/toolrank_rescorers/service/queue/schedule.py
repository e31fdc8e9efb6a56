"""Who goes next: smaller jobs may overtake, but nobody is overtaken for ever; batches are filled up."""

from __future__ import annotations

from bisect import insort

from toolrank_rescorers.service.queue.job import Job

Batch = list[tuple[Job, list[int]]]
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
        """Padded tokens that are worked on until a job of so many is done, were it to come now.

        Its own, those due before it, and as many again that may yet overtake it.
        """
        due = self._now + tokens
        return 2 * tokens + sum(job.waiting for job in self._jobs if job.due <= due)

    def add(self, job: Job) -> None:
        """A job, behind those that are due before it; a probe is due at once."""
        job.due = 0 if job.ticket.probe else self._now + job.waiting
        insort(self._jobs, job, key=lambda other: other.due)

    def remove(self, job: Job) -> None:
        """Takes a job out that nobody waits for any more."""
        if job in self._jobs:
            self._jobs.remove(job)

    def next_batch(self) -> tuple[int, Batch]:
        """The padded length and the rows to work on next; (0, []) when there is nothing to do."""
        while self._jobs:
            first = self._jobs[0]
            lapsed = first.ticket.lapsed()
            if lapsed is not None:
                first.fail(lapsed)
            if not first.by_length:
                self._jobs.pop(0)
                continue
            length = max(first.by_length, key=lambda key: (len(first.by_length[key]), key))
            return length, self._fill(length)
        return 0, []

    def _fill(self, length: int) -> Batch:
        room = max(1, self._budget // length)
        batch: Batch = []
        for job in self._jobs:
            if room and length in job.by_length and job.ticket.lapsed() is None:
                taken = job.take(length, room)
                room -= len(taken)
                self._now += length * len(taken)
                batch.append((job, taken))
        return batch
