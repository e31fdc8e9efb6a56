"""The caller's side of the `need` protocol: fetch with one's own permissions, and ask again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec.structs import replace

from toolrank_engines.contract import Candidate, Vector
from toolrank_rescorers.models import Models
from toolrank_rescorers.pipeline import rescore
from toolrank_rescorers.profiles import Profile
from toolrank_rescorers.request import Rescored, RescoreRequest
from toolrank_rescorers.state import Degradation, Need


class Fetcher(Protocol):
    """Reads documents that this caller, and no other, may see."""

    def apis_of_tools(self, tools: Sequence[str]) -> Sequence[Candidate]:
        """All visible APIs of these tools (keys)."""

    def neighbours(self, vector: Vector, k: int) -> Sequence[Candidate]:
        """The k visible documents of largest inner product with `vector` (d,)."""


def rescore_with(
    fetcher: Fetcher, request: RescoreRequest, profile: Profile, models: Models, rounds: int = 2
) -> Rescored:
    """Rescores, fetches what is needed and rescores again, at most `rounds` times.

    Scores of known pairs come from `models.cache`. When fetching fails, the best list so far is the answer,
    and says so.

    Raises:
        InvalidRequest: the request cannot be answered as asked.
    """
    return in_rounds(fetcher, request, lambda asked: rescore(asked, profile, models), rounds)


def in_rounds(
    fetcher: Fetcher, request: RescoreRequest, ask: Callable[[RescoreRequest], Rescored], rounds: int = 2
) -> Rescored:
    """`rescore_with` for a rescorer that is asked by a function: one in another process, say.

    Raises:
        Exception: whatever `ask` raises.
    """
    answer = ask(request)
    for done in range(rounds):
        if answer.need is None:
            break
        try:
            larger = _larger(fetcher, request, answer.need)
        except Exception as error:  # noqa: BLE001 - whatever an engine raises, there is a list already
            reason = f"what was needed could not be fetched: {type(error).__name__}: {str(error)[:300]}"
            return replace(answer, degraded=(*answer.degraded, Degradation("fetch", reason)))
        if len(larger.fetched) == len(request.fetched):
            return replace(answer, need=None)
        request = larger
        answer = replace(ask(request), rounds=done + 1)
    return answer


def _larger(fetcher: Fetcher, request: RescoreRequest, need: Need) -> RescoreRequest:
    """The request with what was needed and not there yet."""
    found: list[Candidate] = []
    if need.apis_of_tools:
        found += fetcher.apis_of_tools(need.apis_of_tools)
    if need.neighbours is not None:
        found += fetcher.neighbours(need.neighbours.array, need.neighbours.k)
    known = {candidate.id for candidate in (*request.candidates, *request.fetched)}
    new = {candidate.id: candidate for candidate in found if candidate.id not in known}
    return replace(
        request,
        fetched=(*request.fetched, *new.values()),
        complete_tools=request.complete_tools | set(need.apis_of_tools),
    )
