"""One question to a service, without its network: what to send, what answers mean, when to try again."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from toolrank_rescorers.client.errors import Refused, Unreachable
from toolrank_rescorers.client.settings import ClientSettings
from toolrank_rescorers.profiles import Profile
from toolrank_rescorers.request import Hit, Rescored, RescoreRequest
from toolrank_rescorers.service.exchange import call_of
from toolrank_rescorers.service.protocol import ErrorAnswer, RescoreAnswer

if TYPE_CHECKING:
    import httpx2

PATH = "/v1/rescore"
_RETRIED = frozenset({429, 502, 503})
"""Nothing was done, and another try, or another copy, may do it."""
_FAILED = frozenset({500, 502, 503})
"""The service could not do its work."""


class Reply(NamedTuple):
    """What came back; status 0, and the reason as content, where nothing did."""

    status: int
    content: bytes
    retry_after: str = ""

    @classmethod
    def of(cls, response: httpx2.Response) -> Reply:
        """What a client of httpx2 received."""
        return cls(response.status_code, response.content, response.headers.get("retry-after", ""))

    @classmethod
    def nothing(cls, error: Exception) -> Reply:
        """No answer."""
        return cls(0, f"{type(error).__name__}: {error}".encode("utf-8", "replace"))

    @property
    def failed(self) -> bool:
        """Whether this answer counts against the service."""
        return self.status in _FAILED


class Conversation:
    """The state of one question over all its tries."""

    def __init__(
        self, settings: ClientSettings, request: RescoreRequest, profile: Profile | str, vector_model: str
    ) -> None:
        self._settings = settings
        self._call = call_of(request, profile=profile, vector_model=vector_model, explain=True)
        self._until = time.monotonic() + settings.deadline
        self._tries = 0

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return self._until - time.monotonic()

    def body(self) -> bytes:
        """The next try, with the deadline that is left.

        Raises:
            Unreachable: there is no time left.
        """
        if self.left <= 0.001:
            raise Unreachable(f"no answer of the rescorer within {self._settings.deadline:g} s")
        self._tries += 1
        return msgspec.json.encode(
            replace(self._call, deadline_ms=max(1, min(600_000, int(self.left * 1e3))))
        )

    def settle(self, reply: Reply) -> Rescored | float:
        """The answer, or the seconds to wait before the next try.

        Raises:
            Refused: an error, worded by the service.
            Unreachable: no answer, and there should be no further try.
        """
        if reply.status and reply.status not in _RETRIED:
            return read_answer(reply.status, reply.content)
        pause = self._pause(reply.retry_after)
        if pause is not None:
            return pause
        if reply.status:
            return read_answer(reply.status, reply.content)
        raise Unreachable(f"the rescorer cannot be reached: {reply.content.decode('utf-8', 'replace')}")

    def _pause(self, retry_after: str) -> float | None:
        if self._tries >= self._settings.tries:
            return None
        backoff = self._settings.backoff * 2 ** (self._tries - 1) * random.uniform(0.5, 1.5)
        wanted = max(backoff, float(retry_after) if retry_after.isdigit() else 0.0)
        return wanted if wanted < self.left else None


def read_answer(status: int, content: bytes) -> Rescored:
    """What the service answered.

    Raises:
        Refused: an error, worded by the service.
        Unreachable: nothing that this protocol has.
    """
    try:
        if status == 200:
            return rescored_of(msgspec.json.decode(content, type=RescoreAnswer))
        problem = msgspec.json.decode(content, type=ErrorAnswer).error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Unreachable(f"HTTP {status}, and no answer of a rescorer: {str(error)[:200]}") from error
    raise Refused(status, problem.code, problem.message)


def rescored_of(answer: RescoreAnswer) -> Rescored:
    """The answer as the pipeline would have given it in this process."""
    return Rescored(
        results=tuple(
            Hit(hit.id, hit.rank, hit.score, hit.probability, hit.reasons) for hit in answer.results
        ),
        query_kind=answer.query_kind,
        abstained=answer.abstained,
        abstained_because=answer.abstained_because,
        degraded=answer.degraded,
        need=answer.need,
        trace=answer.trace,
    )
