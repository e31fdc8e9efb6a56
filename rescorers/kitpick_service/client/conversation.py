"""One request to a service, without the network: its body, how answers are read, when to try again."""

from __future__ import annotations

import random
import time
from typing import Annotated, NamedTuple

import msgspec
from msgspec.structs import replace

from kitpick_foundation.decoding import UNDECODABLE, decode_as
from kitpick_rescorers.errors import RescorerError
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.request import MAX_CANDIDATES, Rescored, RescoreRequest
from kitpick_service.exchange import call_of
from kitpick_service.protocol import ErrorAnswer, RescoreAnswer


class ClientError(RescorerError):
    """Base of the errors of a client."""


class Unreachable(ClientError):
    """There was no usable answer in time."""


class CircuitOpen(Unreachable):
    """The service failed several times in a row. No request is sent to it for a while."""


class Refused(ClientError):
    """The service refused the request. `code` is that of `docs/protocol.md`."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"the rescorer refused: {status} {code}: {message}")
        self.status = status
        self.code = code

    @property
    def is_temporary(self) -> bool:
        """Whether the request may succeed later: the service is overloaded or has a defect."""
        return self.status == 429 or self.status >= 500


PATH = "/v1/rescore"
_RETRIED = frozenset({429, 502, 503})
"""Nothing was done, and another try, or another copy, may do it."""
_FAILED = frozenset({500, 502, 503})
"""The service could not do its work."""


class ClientSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of a client. All times are in seconds."""

    deadline: Annotated[float, msgspec.Meta(gt=0)] = 10.0
    """Seconds for an answer, all attempts included; the service receives what is left of it."""
    tries: Annotated[int, msgspec.Meta(ge=1)] = 3
    backoff: Annotated[float, msgspec.Meta(ge=0)] = 0.05
    """Seconds before the second try; doubles with each, and varies by half: clients do not march in step."""
    failures: Annotated[int, msgspec.Meta(ge=1)] = 5
    """Number of failures in a row after which the circuit opens."""
    rest: Annotated[float, msgspec.Meta(gt=0)] = 5.0
    """Seconds that the circuit stays open; then one request tries."""
    max_answer_bytes: Annotated[int, msgspec.Meta(ge=1)] = 64 * 2**20
    """A larger answer is not taken."""
    connections: Annotated[int, msgspec.Meta(ge=1)] = 32


class Reply(NamedTuple):
    """An HTTP answer; status 0, with the reason as content, if there was none."""

    status: int
    content: bytes
    retry_after: str = ""

    @classmethod
    def nothing(cls, error: Exception) -> Reply:
        """No answer."""
        return cls(0, f"{type(error).__name__}: {error}".encode("utf-8", "replace"))

    @property
    def failed(self) -> bool:
        """Whether this answer counts against the service."""
        return self.status in _FAILED


class Conversation:
    """The state of one request over all its attempts."""

    def __init__(self, settings: ClientSettings, request: RescoreRequest, profile: Profile | str) -> None:
        self._settings = settings
        ranking = profile.ranking_alone() if isinstance(profile, Profile) else profile
        self._call = call_of(request, profile=ranking, explain=True)
        self._known = {item.id for item in (*request.candidates, *request.fetched)}
        self._until = time.monotonic() + settings.deadline
        self._tries = 0

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return self._until - time.monotonic()

    def body(self) -> bytes:
        """The body of the next attempt, with the time that is left."""
        if self.left <= 0.001:
            raise Unreachable(f"no answer of the rescorer within {self._settings.deadline:g} s")
        self._tries += 1
        return msgspec.json.encode(
            replace(self._call, deadline_ms=max(1, min(600_000, int(self.left * 1e3))))
        )

    def settle(self, reply: Reply) -> Rescored | float:
        """The answer, or the seconds to wait before the next attempt.

        Raises:
            Refused: an error, worded by the service.
            Unreachable: no answer, and there should be no further try.
        """
        if reply.status and reply.status not in _RETRIED:
            return self._read(reply)
        pause = self._pause(reply.retry_after)
        if pause is not None:
            return pause
        if reply.status:
            return self._read(reply)
        raise Unreachable(f"the rescorer cannot be reached: {reply.content.decode('utf-8', 'replace')}")

    def _read(self, reply: Reply) -> Rescored:
        """The answer, checked against this request."""
        answer = read_answer(reply.status, reply.content)
        ids = [hit.id for hit in answer.results]
        if len(set(ids)) < len(ids) or not self._known.issuperset(ids) or len(ids) > self._call.k:
            raise Unreachable("the rescorer's answer is not about the candidates that it was asked about")
        neighbours = None if answer.need is None else answer.need.neighbours
        if neighbours is not None and not (0 < neighbours.k <= MAX_CANDIDATES):
            raise Unreachable(f"the rescorer needs {neighbours.k:,} documents: at most {MAX_CANDIDATES:,}")
        return answer

    def _pause(self, retry_after: str) -> float | None:
        if self._tries >= self._settings.tries:
            return None
        backoff = self._settings.backoff * 2 ** (self._tries - 1) * random.uniform(0.5, 1.5)
        wanted = max(backoff, float(retry_after) if retry_after.isdecimal() else 0.0)
        return wanted if wanted < self.left else None


def read_answer(status: int, content: bytes) -> Rescored:
    """Reads an answer of the service.

    Raises:
        Refused: an error, worded by the service.
        Unreachable: nothing that this protocol has.
    """
    try:
        if status == 200:
            return rescored_of(decode_as(content, RescoreAnswer))
        problem = decode_as(content, ErrorAnswer).error
    except UNDECODABLE as error:
        raise Unreachable(f"HTTP {status}, and no answer of a rescorer: {str(error)[:200]}") from error
    raise Refused(status, problem.code, problem.message)


def rescored_of(answer: RescoreAnswer) -> Rescored:
    """The result that the pipeline would have returned in this process."""
    return Rescored(
        results=answer.results,
        query_kind=answer.query_kind,
        abstained=answer.abstained,
        abstained_because=answer.abstained_because,
        degraded=answer.degraded,
        need=answer.need,
        trace=answer.trace,
    )
