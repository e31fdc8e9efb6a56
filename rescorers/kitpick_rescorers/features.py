"""Features of candidates for a learned fusion: how well each fits, and how reliable the rankings are.

Pure functions of a `State` before any rule has moved anything: the request, its vector, and candidates with
their places and, where the cross-encoder has read them, logits. Ranks come as 1/rank, so that a candidate
that a ranking did not find has 0 and nothing is undefined. Features `best_…`, `mean_…`, `…_gap` and those of
the list depend on which candidates are at hand: learn and rank over lists made the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from kitpick_engines.contract import Candidate, Place, RankingName
from kitpick_engines.document import Effect
from kitpick_engines.lexical import STOP_WORDS
from kitpick_engines.sentences import sentences_of
from kitpick_engines.text import split_identifier
from kitpick_rescorers.state import Matrix, State, direction_of, lexical_scores, unit_vectors

NEAR = 50
"""Places in the lexical and in the dense ranking that a learned fusion looks at."""
NEAR_BY_SENTENCE = 20
"""The same of the ranking of the request's sentences, each asked by itself."""
_CROWD = 20
"""How many neighbours tell whether others of the catalog say the same."""
_SHARED = 0.2
"""Share of a cosine that a text owes to what many texts of its catalog say."""
_HEAD = 10
"""How deep two rankings are compared, and where a margin is taken."""
_WORD = re.compile(r"[^\W_]+")
_ENDINGS = (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", ""))
_LEAST_STEM = 3

_READ = (
    "show list find get fetch look search check see view tell give what which who where when how many count"
    " read browse display retrieve compare lookup describe track"
)
_WRITE = (
    "create add make set update change edit send book post upload put write register start open rename move"
    " copy enable schedule invite assign save publish submit import order buy reply upgrade configure attach"
)
_DESTRUCTIVE = (
    "delete remove cancel terminate drop erase destroy purge revoke unsubscribe wipe discard rid detach stop"
)


def is_near(candidate: Candidate) -> bool:
    """Whether a learned fusion reads the candidate: its rank by words, vector or sentences is high enough."""
    lexical, dense, sentence = candidate.lexical, candidate.dense, candidate.sentence
    return (
        (lexical is not None and lexical.rank <= NEAR)
        or (dense is not None and dense.rank <= NEAR)
        or (sentence is not None and sentence.rank <= NEAR_BY_SENTENCE)
    )


class _List:
    """Values from which all features of a list of n candidates are computed."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.items = state.ranked
        self.count = len(state.ranked)
        self.asked = stems(state.query)
        names, self.tools = np.unique([item.tool for item in self.items], return_inverse=True)
        self.tool_count = len(names)
        self.lexical = lexical_scores(self.items)
        """Lexical scores, 0 where no word was found."""
        query = state.vector
        self.rows, _ = unit_vectors(self.items, None if query is None else len(query))
        """Unit vectors (n, d), zeros for a candidate without a usable one."""
        self.cosines: Matrix = np.zeros(self.count) if query is None else self.rows @ direction_of(state)
        """With the request's vector; 0 for all where it has none."""
        self.scored = np.array([float(item.logit is not None) for item in self.items])
        """1 if the cross-encoder has scored the candidate."""
        self.logits = self._logits()
        """Logits; for a candidate that was not scored, the lowest logit of the list."""
        self.names: list[frozenset[str]] = [name_stems(item.candidate.api) for item in self.items]
        """Stems of the API's name."""
        self.covered: Matrix = self._covered()
        """Share of the request's stems that the candidate's text has."""

    @cached_property
    def crowd(self) -> Matrix:
        """For each candidate the mean cosine with its nearest others, 0 where it has none."""
        likeness = self.rows @ self.rows.T
        np.fill_diagonal(likeness, -np.inf)
        others = min(_CROWD, self.count - 1)
        if not others:
            return np.zeros(self.count)
        near: Matrix = np.partition(likeness, -others, axis=1)[:, -others:].mean(axis=1)
        return near

    def reciprocal(self, name: RankingName) -> Matrix:
        """1/rank in a ranking, 0 where it did not find the candidate."""
        places: list[Place | None] = [getattr(item.candidate, name) for item in self.items]
        return np.array([1.0 / place.rank if place else 0.0 for place in places])

    def _logits(self) -> Matrix:
        known = [item.logit for item in self.items if item.logit is not None]
        lowest = min(known, default=0.0)
        return np.array([lowest if item.logit is None else item.logit for item in self.items])

    def share_asked(self, of: Callable[[int], frozenset[str]]) -> Matrix:
        """For each candidate, the share of its stems that occur in the request."""
        found = [of(place) for place in range(self.count)]
        return np.array([len(words & self.asked) / len(words) if words else 0.0 for words in found])

    def _covered(self) -> Matrix:
        if not self.asked:
            return np.zeros(self.count)
        texts = [text_stems(item.candidate.text) for item in self.items]
        return np.array([len(self.asked & words) / len(self.asked) for words in texts])

    def best_of_tool(self, values: Matrix) -> Matrix:
        """For each candidate the largest value of its tool."""
        best = np.full(self.tool_count, -np.inf)
        np.maximum.at(best, self.tools, values)
        return best[self.tools]

    def mean_of_tool(self, values: Matrix) -> Matrix:
        """For each candidate the mean value of its tool."""
        sums = np.bincount(self.tools, weights=values, minlength=self.tool_count)
        return (sums / np.bincount(self.tools, minlength=self.tool_count))[self.tools]

    def everywhere(self, value: float) -> Matrix:
        """A property of the list, the same for every candidate."""
        return np.full(self.count, value)

    def agreement(self) -> float:
        """Share of the first ten that the lexical and the dense ranking have in common."""
        heads = [
            {item.id for item in self.items if (place := item.candidate.places[name]) and place.rank <= _HEAD}
            for name in _BOTH
        ]
        largest = max(map(len, heads))
        return len(heads[0] & heads[1]) / largest if largest else 0.0


_BOTH: tuple[RankingName, RankingName] = ("lexical", "dense")


def stems(text: str) -> frozenset[str]:
    """Words of a text without stop words and without the commonest English endings: `copies` is `copy`."""
    if text.isascii():  # where a letter in lower case is one letter, all are lowered at once
        words = set(_WORD.findall(text.lower()))
    else:
        words = {word.lower() for word in _WORD.findall(text)}
    return frozenset(map(_stem, words - STOP_WORDS))


@lru_cache(16_384)
def name_stems(name: str) -> frozenset[str]:
    """Stems of the name of an API or of a tool: the same few hundred are asked for again and again."""
    return stems(split_identifier(name))


@lru_cache(4_096)
def text_stems(text: str) -> frozenset[str]:
    """Stems of a candidate's text: of a catalog in use the same texts are asked for again and again."""
    return stems(text)


@lru_cache(65_536)
def _stem(word: str) -> str:
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
            return word[: -len(ending)] + instead
    return word


def wanted_effects(query: str) -> frozenset[Effect]:
    """Effects that the verbs of a request ask for; empty if it has no known verb."""
    words = {_stem(word.lower()) for word in _WORD.findall(query)}
    return frozenset(effect for effect, verbs in _VERBS.items() if words & verbs)


@lru_cache(16_384)
def effect_of_name(api: str) -> Effect:
    """The effect of the first known verb in an API's name: `deleteUser` is destructive."""
    for word in split_identifier(api).split():
        for effect, verbs in _VERBS.items():
            if _stem(word.lower()) in verbs:
                return effect
    return Effect.UNKNOWN


_VERBS = {
    effect: frozenset(map(_stem, verbs.split()))
    for effect, verbs in (
        (Effect.READ, _READ),
        (Effect.WRITE, _WRITE),
        (Effect.DESTRUCTIVE, _DESTRUCTIVE),
    )
}


def _effect_fit(the: _List) -> Matrix:
    wanted = wanted_effects(the.state.query)
    if not wanted:
        return np.zeros(the.count)
    fits = []
    for item in the.items:
        effect = item.candidate.effect
        if effect is Effect.UNKNOWN:
            effect = effect_of_name(item.candidate.api)
        fits.append(0.0 if effect is Effect.UNKNOWN else (1.0 if effect in wanted else -1.0))
    return np.array(fits)


def _largest(values: Matrix) -> float:
    return float(values.max())


def _median(values: Matrix) -> float:
    return float(np.median(values))


def _margin(values: Matrix, place: int = _HEAD) -> float:
    """The largest value less the one at a place, or less the last where there are fewer."""
    ordered = np.sort(values)[::-1]
    return float(ordered[0] - ordered[min(place, len(ordered)) - 1])


def _reciprocal_order(values: Matrix) -> Matrix:
    """1/rank by falling value; equal values have the rank of the first of them."""
    ranks: Matrix = 1.0 + np.searchsorted(np.sort(-values), -values, side="left").astype(np.float64)
    return 1.0 / ranks


FEATURES: Mapping[str, Callable[[_List], Matrix]] = {
    # of a candidate, by each ranking
    "lexical_rank": lambda the: the.reciprocal("lexical"),
    "lexical_score": lambda the: the.lexical,
    "lexical_share": lambda the: the.lexical / max(_largest(the.lexical), 1e-9),
    "dense_rank": lambda the: the.reciprocal("dense"),
    "cosine": lambda the: the.cosines,
    "cosine_gap": lambda the: the.cosines - _largest(the.cosines),
    "crowd": lambda the: the.crowd,
    "cosine_of_its_own": lambda the: the.cosines - _SHARED * the.crowd,
    "sentence_rank": lambda the: the.reciprocal("sentence"),
    "intent_rank": lambda the: the.reciprocal("intent"),
    # by the cross-encoder
    "scored": lambda the: the.scored,
    "logit": lambda the: the.logits,
    "logit_gap": lambda the: the.logits - _largest(the.logits),
    "logit_rank": lambda the: _reciprocal_order(the.logits),
    # by words
    "name_asked": lambda the: the.share_asked(lambda place: the.names[place]),
    "tool_asked": lambda the: the.share_asked(lambda place: name_stems(the.items[place].candidate.tool)),
    "request_covered": lambda the: the.covered,
    "effect_fit": _effect_fit,
    "deprecated": lambda the: np.array([float(item.candidate.deprecated) for item in the.items]),
    # of its tool
    "tool_best_cosine": lambda the: the.best_of_tool(the.cosines),
    "tool_mean_cosine": lambda the: the.mean_of_tool(the.cosines),
    "tool_best_logit": lambda the: the.best_of_tool(the.logits),
    "tool_mean_logit": lambda the: the.mean_of_tool(the.logits),
    "gap_in_tool": lambda the: the.logits - the.best_of_tool(the.logits),
    "tool_candidates": lambda the: np.bincount(the.tools)[the.tools].astype(float),
    # of the list
    "agreement": lambda the: the.everywhere(the.agreement()),
    "best_cosine": lambda the: the.everywhere(_largest(the.cosines)),
    "cosine_margin": lambda the: the.everywhere(_margin(the.cosines)),
    "lexical_margin": lambda the: the.everywhere(_margin(the.lexical) / max(_largest(the.lexical), 1e-9)),
    "best_logit": lambda the: the.everywhere(_largest(the.logits)),
    "logit_margin": lambda the: the.everywhere(_margin(the.logits, 2)),
    "best_covered": lambda the: the.everywhere(_largest(the.covered)),
    "sentences": lambda the: the.everywhere(float(max(1, len(sentences_of(the.state.query))))),
    "words": lambda the: the.everywhere(float(len(the.state.query.split()))),
}
"""Name → values (n,) over a list.

| feature | is |
|---|---|
| `…_rank` | 1/rank in the ranking, in [0, 1]; of `logit_rank` among the candidates at hand |
| `lexical_score`, `lexical_share` | BM25 score ≥ 0, and its share of the best one |
| `cosine`, `cosine_gap` | with the request, in [−1, 1]; less the best one, ≤ 0 |
| `crowd` | mean cosine with the 20 nearest of the other candidates, in [−1, 1] |
| `cosine_of_its_own` | `cosine` less a fifth of `crowd`: what a text shares with many says less |
| `scored`, `logit`, `logit_gap` | read by the cross-encoder (0 or 1), what it said; less the best one, ≤ 0 |
| `name_asked`, `tool_asked` | share of the stems of the API's or the tool's name that the request has |
| `request_covered` | share of the request's stems that the candidate's text has |
| `effect_fit` | 1 the verbs of the request ask for what it does, −1 for something else, 0 unknown |
| `deprecated` | 0 or 1 |
| `tool_best_…`, `tool_mean_…` | over the candidates of the same tool |
| `gap_in_tool` | logit less the best of its tool, ≤ 0 |
| `tool_candidates` | how many candidates its tool has |
| `agreement` | share of the first ten that the lexical and the dense ranking have in common |
| `best_…` | the largest value in the list |
| `cosine_margin`, `lexical_margin` | best less tenth; the lexical one as a share of the best |
| `logit_margin` | best less second |
| `sentences`, `words` | of the request |
"""

OF_LIST = (
    "agreement",
    "best_cosine",
    "cosine_margin",
    "lexical_margin",
    "best_logit",
    "logit_margin",
    "best_covered",
    "sentences",
    "words",
)
"""Features that are the same for every candidate of a list."""

RISING = (
    "lexical_rank",
    "lexical_share",
    "dense_rank",
    "cosine",
    "cosine_of_its_own",
    "logit",
    "logit_rank",
    "effect_fit",
)
"""Features of which more never makes a candidate worse, for a ranker with monotone constraints."""


def candidate_features(state: State) -> NDArray[np.float32]:
    """Float32 (n, features), finite: row i is `state.ranked[i]`, columns are in the order of `FEATURES`."""
    if not state.ranked:
        return np.zeros((0, len(FEATURES)), np.float32)
    the = _List(state)
    return np.stack([feature(the) for feature in FEATURES.values()], axis=1).astype(np.float32)


class _JudgedList:
    """A list with what a ranker said of it: features by name (n,), logits (n,), n ≥ 1."""

    def __init__(self, features: NDArray[np.float32], logits: NDArray[np.float32]) -> None:
        self._features = features
        self.ordered = np.sort(logits.astype(np.float64))[::-1]
        self.probabilities = 1.0 / (1.0 + np.exp(-self.ordered))
        self._first = int(np.argmax(logits))

    def column(self, name: str) -> Matrix:
        """A feature of all candidates."""
        return self._features[:, _PLACES[name]].astype(np.float64)

    def of_first(self, name: str) -> float:
        """A feature of the candidate that the ranker puts first."""
        return float(self._features[self._first, _PLACES[name]])

    def read(self) -> Matrix:
        """The cross-encoder's logits of the candidates that it has read; a single 0 if it read none."""
        return self.column("logit")[self.column("scored") > 0] if self.column("scored").any() else np.zeros(1)


_PLACES = {name: place for place, name in enumerate(FEATURES)}
_OF_FIRST = (
    "cosine",
    "logit",
    "request_covered",
    "dense_rank",
    "lexical_rank",
    "name_asked",
    "tool_asked",
    "effect_fit",
)
"""Features of the first candidate that are evidence: `first_cosine` and so on."""


def _standout(values: Matrix) -> float:
    """By how many standard deviations the largest value is above the mean."""
    return float((values.max() - values.mean()) / (values.std() + 1e-6))


def _of_first(name: str) -> Callable[[_JudgedList], float]:
    return lambda judged: judged.of_first(name)


LIST_EVIDENCE: Mapping[str, Callable[[_JudgedList], float]] = {
    "first": lambda judged: float(judged.ordered[0]),
    "margin": lambda judged: _margin(judged.ordered, 2),
    "margin_of_five": lambda judged: _margin(judged.ordered, 5),
    "mean_of_three": lambda judged: float(judged.ordered[:3].mean()),
    "near_misses": lambda judged: float(((judged.ordered[0] - judged.ordered[1:]) < 1.0).sum()),
    "expected_in_five": lambda judged: float(judged.probabilities[:5].sum()),
    "any_in_ten": lambda judged: float(1.0 - np.prod(1.0 - judged.probabilities[:10])),
    "cosine_standout": lambda judged: _standout(judged.column("cosine")),
    "cosine_over_median": lambda judged: _largest(judged.column("cosine")) - _median(judged.column("cosine")),
    "logit_standout": lambda judged: _standout(judged.read()),
    "logit_over_median": lambda judged: _largest(judged.read()) - _median(judged.read()),
    **{f"first_{name}": _of_first(name) for name in _OF_FIRST},
}
"""Name → value of a list, n ≥ 1; beside these, all of `OF_LIST`.

| evidence | is |
|---|---|
| `first`, `margin`, `margin_of_five` | the ranker's best logit; less the second, less the fifth |
| `mean_of_three` | of the ranker's best logits |
| `near_misses` | candidates less than one below the best |
| `expected_in_five` | sum of the first five probabilities |
| `any_in_ten` | that any of the first ten serves the request, if they were independent |
| `…_standout` | of cosines or logits: the largest less the mean, in standard deviations |
| `…_over_median` | the largest less the median |
| `first_…` | that feature of the candidate that the ranker puts first |

What stands out in its own list says more on a catalog never seen than a value by itself: how near requests
come to their APIs differs between catalogs.
"""


def list_evidence(
    features: NDArray[np.float32], logits: NDArray[np.float32], names: Sequence[str]
) -> NDArray[np.float64]:
    """Features of a whole list, for deciding whether anything in it serves the request: float64 (g,).

    Args:
        features: (n, features) as `candidate_features` makes them, n ≥ 1.
        logits: the ranker's (n,), in the same order.
        names: of `LIST_EVIDENCE` and `OF_LIST`.
    """
    judged = _JudgedList(features, logits)
    return np.array(
        [LIST_EVIDENCE[name](judged) if name in LIST_EVIDENCE else judged.of_first(name) for name in names]
    )
