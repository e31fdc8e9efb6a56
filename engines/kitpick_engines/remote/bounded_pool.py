"""Connections to a search server whose answers are bounded, in bytes and in time.

The client libraries read an answer to its end before they look at it, and unpack it on the way. So a hostile
server, or somebody between it and us, could fill the memory or never come to an end.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from kitpick_foundation.bounded import read_bounded

MOST_BYTES = 512 * 1024 * 1024
"""Most bytes of one answer, unpacked. Pages of documents are hundreds of times smaller."""
_PIECE = 64 * 1024
_TIMES = 10
"""An answer may take this many times the timeout, which is the limit for the next packet alone."""


class WholeAnswer(NamedTuple):
    """What the client libraries read of an answer of urllib3."""

    status: int
    headers: Mapping[str, str]
    data: bytes


class BoundedPool:
    """A pool of urllib3, as far as the client libraries use one."""

    def __init__(self, pool: Any) -> None:  # noqa: ANN401 - of two versions of urllib3
        self._pool = pool

    def urlopen(self, *request: Any, timeout: float, **options: Any) -> WholeAnswer:  # noqa: ANN401 - as above
        """The whole answer.

        Raises:
            MoreThanBound, TimeoutError: it is too large, or does not come to its end.
        """
        until = time.monotonic() + _TIMES * timeout
        answer = self._pool.urlopen(*request, timeout=timeout, preload_content=False, **options)
        try:
            body = read_bounded(lambda: answer.read(_PIECE, decode_content=True), MOST_BYTES, until)
        except BaseException:
            answer.close()
            raise
        answer.release_conn()
        return WholeAnswer(answer.status, answer.headers, body)

    def close(self) -> None:
        """Releases connections."""
        self._pool.close()


def bounded(node: type[Any]) -> type[Any]:
    """A class of a client library's connections, with bounded answers."""

    class BoundedNode(node):  # type: ignore[misc]
        def __init__(self, *given: Any, **options: Any) -> None:  # noqa: ANN401 - the library's own
            super().__init__(*given, **options)
            self.pool: Any = BoundedPool(self.pool)

    return BoundedNode
