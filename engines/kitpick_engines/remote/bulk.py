"""Bulk writes: requests of limited size, one after the other, repeated while the server is busy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from kitpick_engines.errors import EngineUnavailable
from kitpick_engines.remote.server import Json, Pauses, RequestRefused, SearchServer, block_cure

_BYTES = 4 * 1024 * 1024
_ACTIONS = 1_000
_LATER = frozenset({429, 503})
_ENCODER = msgspec.json.Encoder()


class Action(NamedTuple):
    """An action of a bulk request: one line, or two with a document."""

    head: Json
    source: Json | None = None

    @property
    def lines(self) -> bytes:
        """Newline-delimited JSON."""
        head = _ENCODER.encode(self.head) + b"\n"
        return head if self.source is None else head + _ENCODER.encode(self.source) + b"\n"


class RefusedAction(NamedTuple):
    """An action that the server refused for good."""

    position: int
    status: int
    reason: str
    block_cure: str = ""
    """The cure where the refusal is about the index, not about this action."""


def send(server: SearchServer, index: str, actions: Sequence[Action]) -> list[RefusedAction]:
    """Sends all actions, in order, and returns those that were refused for good.

    What the server was too busy for is sent again, after pauses, for as long as its `patience`.

    Raises:
        EngineUnavailable: the server stayed too busy, or was not reached.
        RequestRefused: the request as a whole was refused.
    """
    return [failure for pending in _requests(actions) for failure in _send(server, index, pending)]


def _send(server: SearchServer, index: str, pending: dict[int, bytes]) -> list[RefusedAction]:
    failures: list[RefusedAction] = []
    pauses = Pauses(server.patience)
    while pending:
        try:
            answer = server.send_lines(f"/{index}/_bulk", b"".join(pending.values()))
        except RequestRefused as error:
            if error.status != 413:
                raise
            return failures + _halved(server, index, pending, error)
        refused = _refused_actions(answer, list(pending))
        closed = [each for each in refused if each.block_cure]
        why = f"{closed[0].reason}{closed[0].block_cure}" if closed else "the server stays too busy to write"
        if closed and closed[0].status not in _LATER:
            raise EngineUnavailable(f"index {index}: {why}")
        pending = {each.position: pending[each.position] for each in refused if each.status in _LATER}
        failures += [each for each in refused if each.status not in _LATER]
        if pending:
            pauses.wait(EngineUnavailable(f"index {index}: {why}"))
    return failures


def _halved(
    server: SearchServer, index: str, pending: dict[int, bytes], error: RequestRefused
) -> list[RefusedAction]:
    """Sends a request that was too large in two halves; a single action that is too large fails."""
    positions = list(pending)
    if len(positions) == 1:
        return [RefusedAction(positions[0], error.status, "larger than the server takes")]
    middle = len(positions) // 2
    halves = positions[:middle], positions[middle:]
    return [
        failure
        for half in halves
        for failure in _send(server, index, {position: pending[position] for position in half})
    ]


def _refused_actions(answer: Json, positions: Sequence[int]) -> list[RefusedAction]:
    failures = []
    for position, item in zip(positions, answer["items"], strict=True):
        (result,) = item.values()
        if result["status"] > 299 and not (result["status"] == 404 and "error" not in result):
            error = result.get("error", {})
            cause = error.get("caused_by", {})
            reason = f"{error.get('reason', '')} {cause.get('reason', '')}".strip()[:500]
            cure = block_cure(str(error.get("type", "")), reason)
            failures.append(RefusedAction(position, result["status"], reason, cure))
    return failures


def _requests(actions: Sequence[Action]) -> Iterator[dict[int, bytes]]:
    """The lines of the actions by their positions, as many in each request as it may hold."""
    pending: dict[int, bytes] = {}
    size = 0
    for position, action in enumerate(actions):
        encoded = action.lines
        if pending and (size + len(encoded) > _BYTES or len(pending) == _ACTIONS):
            yield pending
            pending, size = {}, 0
        pending[position] = encoded
        size += len(encoded)
    if pending:
        yield pending
