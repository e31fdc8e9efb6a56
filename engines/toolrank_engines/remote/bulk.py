"""Writes in bulk: requests of bounded size, one after the other, as fast as the server takes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from toolrank_engines.errors import EngineUnavailable
from toolrank_engines.remote.server import Json, Pauses, Refused, Server

_BYTES = 4 * 1024 * 1024
_ACTIONS = 1_000
_LATER = frozenset({429, 503})
_ENCODER = msgspec.json.Encoder()


class Action(NamedTuple):
    """One line of a bulk request, or two: what to do, and with which document."""

    head: Json
    source: Json | None = None

    @property
    def lines(self) -> bytes:
        """Newline-delimited JSON."""
        head = _ENCODER.encode(self.head) + b"\n"
        return head if self.source is None else head + _ENCODER.encode(self.source) + b"\n"


class Failure(NamedTuple):
    """An action that the server refused for good."""

    position: int
    status: int
    reason: str


def send(server: Server, index: str, actions: Sequence[Action]) -> list[Failure]:
    """Sends all actions, in order, and returns those that were refused for good.

    What the server was too busy for is sent again, after pauses, for as long as its `patience`.

    Raises:
        EngineUnavailable: the server stayed too busy, or was not reached.
        Refused: the request as a whole was refused.
    """
    failures: list[Failure] = []
    for positions, lines in _requests(actions):
        failures += _send(server, index, dict(zip(positions, lines, strict=True)))
    return failures


def _send(server: Server, index: str, pending: dict[int, bytes]) -> list[Failure]:
    failures: list[Failure] = []
    pauses = Pauses(server.patience)
    while pending:
        try:
            answer = server.send_lines(f"/{index}/_bulk", b"".join(pending.values()))
        except Refused as error:
            if error.status != 413:
                raise
            return failures + _halved(server, index, pending, error)
        refused = _refused(answer, list(pending))
        pending = {each.position: pending[each.position] for each in refused if each.status in _LATER}
        failures += [each for each in refused if each.status not in _LATER]
        if pending:
            pauses.wait(EngineUnavailable(f"index {index}: the server stays too busy to write"))
    return failures


def _halved(server: Server, index: str, pending: dict[int, bytes], error: Refused) -> list[Failure]:
    """A request that was too large in two parts; a single action that is too large has failed."""
    positions = list(pending)
    if len(positions) == 1:
        return [Failure(positions[0], error.status, "larger than the server takes")]
    middle = len(positions) // 2
    halves = positions[:middle], positions[middle:]
    return [
        failure
        for half in halves
        for failure in _send(server, index, {position: pending[position] for position in half})
    ]


def _refused(answer: Json, positions: Sequence[int]) -> list[Failure]:
    failures = []
    for position, item in zip(positions, answer["items"], strict=True):
        (result,) = item.values()
        if result["status"] > 299 and not (result["status"] == 404 and "error" not in result):
            error = result.get("error", {})
            failures.append(Failure(position, result["status"], _reason(error)))
    return failures


def _reason(error: Json) -> str:
    cause = error.get("caused_by", {})
    return f"{error.get('reason', '')} {cause.get('reason', '')}".strip()[:500]


def _requests(actions: Sequence[Action]) -> Iterator[tuple[list[int], list[bytes]]]:
    positions: list[int] = []
    lines: list[bytes] = []
    size = 0
    for position, action in enumerate(actions):
        encoded = action.lines
        if lines and (size + len(encoded) > _BYTES or len(lines) == _ACTIONS):
            yield positions, lines
            positions, lines, size = [], [], 0
        positions.append(position)
        lines.append(encoded)
        size += len(encoded)
    if lines:
        yield positions, lines
