"""Feedback on tools that were found: who gives it, by the id of an answer, and how long it is kept."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from kitpick.intents import CatalogIntents
from kitpick.result import SearchResult
from kitpick_engines.contract import Filter
from kitpick_engines.errors import EngineUnavailable
from kitpick_engines.text import storable
from kitpick_foundation.errors import KitpickError, suggestion
from kitpick_foundation.visible import is_blank
from kitpick_rescorers.errors import InvalidRequest
from kitpick_rescorers.intents.answers import MAX_SHOWN, AnswerLog, RememberedAnswer, answer_ids
from kitpick_rescorers.intents.store import Verdict
from kitpick_rescorers.state import Degradation

_ANONYMOUS = "anonymous"
_DAY = 86_400.0
_LIKE_AN_ID = re.compile(r"answer-\S+")
"""No request in words: an id that was cut, or made up."""


class UnknownResult(KitpickError):
    """An id under which these people were given no answer, or which is forgotten by now."""

    def __init__(self, result: str, where: str) -> None:
        super().__init__(
            f"no answer has the id {result[:200]!r}: {where}; or say what the request was in place of the id"
        )


class NotShown(KitpickError):
    """Ids of APIs that an answer did not show, as far as the caller may know."""

    def __init__(self, named: Sequence[str], shown: Sequence[str]) -> None:
        more = f" nor {len(named) - 1:,} more" if len(named) > 1 else ""
        near = f"{hint}; or" if (hint := suggestion(named[0][:200], shown)) else "name what it showed, or"
        super().__init__(
            f"nothing was remembered: the answer did not show {named[0][:200]!r}{more}: {near} say what was "
            "wanted, in words, in place of the answer's id"
        )


class Outcome(msgspec.Struct, frozen=True):
    """Ids of APIs by what became of them."""

    chosen: Sequence[str] = ()
    """They did the job."""
    failed: Sequence[str] = ()
    """They were called and did not."""
    not_needed: Sequence[str] = ()
    """They had no part in it."""

    @property
    def verdicts(self) -> Mapping[str, Verdict]:
        """Each id once: whoever chose a tool in the end did so, whatever else they say about it."""
        said: dict[str, Verdict] = dict.fromkeys(self.not_needed, "not_needed")
        said |= dict.fromkeys(self.failed, "failed")
        return said | dict.fromkeys(self.chosen, "chosen")


class Forgotten(msgspec.Struct, frozen=True):
    """How much was removed."""

    answers: int
    choices: int


class Feedback:
    """The answers of a catalog, and what was said about them."""

    def __init__(self, answers: AnswerLog, intents: CatalogIntents) -> None:
        self.answers = answers
        self._intents = intents

    def named(self, request: str, permitted: Filter, result: SearchResult) -> SearchResult:
        """The result with the id under which feedback can name it; without one where it cannot be stored."""
        try:
            name = self.answers.remember(
                RememberedAnswer(
                    request=request.encode("utf-8", "replace").decode("utf-8"),  # lone surrogates
                    tenant=storable(permitted.tenant),
                    principals=_names(permitted),
                    profile=result.profile,
                    shown=tuple(hit.id for hit in result.hits),
                )
            )
        except EngineUnavailable as error:
            return replace(result, degraded=(*result.degraded, Degradation("feedback", str(error))))
        return replace(result, id=name)

    def take(self, about: str, outcome: Outcome, client: str, permitted: Filter) -> int:
        """Takes what became of APIs; how many verdicts were stored.

        `about` is ids of answers joined by `+`, or a request in words. An id that is wrong is refused, and
        nothing is stored. What an answer showed and is gone is left out.

        Raises:
            UnknownResult: there is no such answer of this tenant, or no request.
            NotShown: no answer showed one of the ids.
            UnknownIds: nothing that the client may see has one of the ids.
            EngineUnavailable, ModelError: as `CatalogIntents.judge`.
        """
        names = answer_ids(about)
        if not names and (is_blank(about) or _LIKE_AN_ID.fullmatch(about.strip())):
            raise UnknownResult(about, self._where())
        if not names:
            return self._on_request(about, outcome, client, permitted)
        answers = {name: self._answer(name, permitted) for name in names}
        self._require_shown(list(outcome.verdicts), list(answers.values()), permitted)
        known = {api for answer in answers.values() for api in answer.shown}
        behind = [api for api in outcome.verdicts if api not in known]
        stored = 0
        for name, answer in answers.items():
            named = (*answer.shown, *behind) if _is_cut(answer) else answer.shown
            for verdict, apis in _by_verdict(outcome, named).items():
                at = time.time()
                kept = self._intents.judge(answer.request, apis, client, permitted, verdict)
                remembered = [api for api in kept if api in answer.shown]
                self.answers.judge(name, remembered, client or _ANONYMOUS, verdict, at)
                stored += len(kept)
        return stored

    def confirmed(self, about: str, permitted: Filter) -> dict[str, str]:
        """Ids of the APIs that come first, because they were confirmed, and by whom.

        `about` is as for `take`; an answer that is forgotten counts for nothing.
        """
        answers = [self.answers.find(name, storable(permitted.tenant)) for name in answer_ids(about)]
        requests = [answer.request for answer in answers if answer is not None] or [about]
        found: dict[str, str] = {}
        for request in requests:
            found |= self._intents.confirmed(request, permitted)
        return found

    def _answer(self, name: str, permitted: Filter) -> RememberedAnswer:
        answer = self.answers.find(name, storable(permitted.tenant))
        if answer is None:
            raise UnknownResult(name, self._where())
        return answer

    def _require_shown(
        self, named: Sequence[str], answers: Sequence[RememberedAnswer], permitted: Filter
    ) -> None:
        """Refuses ids that no answer showed to this client; of long answers only the first are known."""
        own = {api for answer in answers if answer.principals == _names(permitted) for api in answer.shown}
        if not (unknown := [api for api in named if api not in own]):
            return
        shown = self._intents.visible([api for answer in answers for api in answer.shown], permitted)
        cut = any(map(_is_cut, answers))
        known = {*shown, *(self._intents.visible(unknown, permitted) if cut else ())}
        if wrong := [api for api in unknown if api not in known]:
            raise NotShown(wrong, shown)

    def _on_request(self, request: str, outcome: Outcome, client: str, permitted: Filter) -> int:
        self._intents.require_visible(tuple(outcome.verdicts), permitted)
        return sum(
            len(self._intents.judge(request, apis, client, permitted, verdict))
            for verdict, apis in _by_verdict(outcome, tuple(outcome.verdicts)).items()
        )

    def forget(self, tenant: str | None, older_than_days: float | None) -> Forgotten:
        """Removes answers and what was said: of a tenant or of all, older than this or whatever its age.

        Raises:
            InvalidRequest: no number of days.
            EngineUnavailable: a file cannot be written.
        """
        if older_than_days is not None and not older_than_days >= 0:
            raise InvalidRequest(f"older_than_days is {older_than_days}: give a number of days, 0 or more")
        tenant = None if tenant is None else storable(tenant)
        until = float("inf") if older_than_days is None else time.time() - older_than_days * _DAY
        return Forgotten(self.answers.forget(tenant, until), self._intents.forget(tenant, until))

    def _where(self) -> str:
        if self.answers.path is None:
            return "this process remembers its latest answers alone, KITPICK_ANSWERS names a file for more"
        return "the file of answers, KITPICK_ANSWERS, does not hold it (any more)"  # callers may see no path


def _is_cut(answer: RememberedAnswer) -> bool:
    """Whether it may have shown more than is remembered."""
    return len(answer.shown) >= MAX_SHOWN


def _names(permitted: Filter) -> tuple[str, ...]:
    return tuple(sorted(map(storable, permitted.principals)))


def _by_verdict(outcome: Outcome, shown: Sequence[str]) -> dict[Verdict, list[str]]:
    found: dict[Verdict, list[str]] = {}
    for api, verdict in outcome.verdicts.items():
        if api in shown:
            found.setdefault(verdict, []).append(api)
    return found
