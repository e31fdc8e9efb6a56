"""Locks of a catalog between processes. The operating system releases them when a process ends.

Only one sync of a source runs at a time, and only one sync of any source is in the short part that writes or
moves the catalog to another model. Locks hold between the processes of one machine and user. Beyond them the
engine's own transactions keep the catalog whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_state_path

from kitpick_ingest.errors import LocalWriteFailed, SourceBusy
from kitpick_ingest.progress import Progress

if TYPE_CHECKING:
    from filelock import FileLock

_PATIENCE = 1.0
"""Seconds of waiting before a note."""


@contextmanager
def source_lock(folder: Path | None, catalog: str, source: str, wait: float) -> Iterator[None]:
    """The lock for syncing `source` into `catalog` (its URL).

    Raises:
        SourceBusy: somebody else has had it for `wait` seconds.
    """
    lock = _lock(folder, "source", catalog, source)
    if not _acquired(lock, wait):
        raise SourceBusy(f"{source}: another process is syncing it into {catalog}; wait for it to end")
    try:
        yield
    finally:
        lock.release()


@contextmanager
def catalog_lock(folder: Path | None, catalog: str, progress: Progress) -> Iterator[None]:
    """The lock for writing to `catalog`. Waits without limit, and reports that it waits."""
    lock = _lock(folder, "catalog", catalog)
    if not _acquired(lock, _PATIENCE):
        progress.note(f"waiting for another process that is writing to {catalog}")
        _acquired(lock, -1)
    try:
        yield
    finally:
        lock.release()


def _acquired(lock: FileLock, seconds: float) -> bool:
    """Whether the lock was free within so many seconds; less than 0 waits without limit."""
    from filelock import Timeout

    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        return False
    except OSError as error:
        raise LocalWriteFailed(f"lock file {lock.lock_file}: {error.strerror or error}") from error
    return True


def state_file(folder: Path | None, suffix: str, *parts: str) -> Path:
    """A file in the folder of locks or in the user's state folder, named by a digest of `parts`.

    Raises:
        LocalWriteFailed: the folder cannot be made.
    """
    folder = folder or user_state_path("kitpick") / "locks"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LocalWriteFailed(f"folder of locks {folder}: {error.strerror or error}") from error
    name = hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return folder / f"{name}.{suffix}"


def _lock(folder: Path | None, *parts: str) -> FileLock:
    from filelock import FileLock

    return FileLock(state_file(folder, "lock", *parts), thread_local=False)
