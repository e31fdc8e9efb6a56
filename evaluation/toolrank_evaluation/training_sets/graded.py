"""Requests with texts that somebody graded: a teacher's order, or what a language model made of them."""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec

from toolrank_models.train.examples import RankingList


class GradedRequest(msgspec.Struct, frozen=True):
    """A request with texts, a grade for each, and those that count as right when a list is judged."""

    text: str
    texts: tuple[str, ...]
    """Each once."""
    grades: tuple[float, ...]
    right: frozenset[str]

    def candidates(self) -> RankingList:
        """All texts in alphabetical order: where scores are equal, the grades' order must not help."""
        return self._listed(sorted(range(len(self.texts)), key=self.texts.__getitem__))

    def drawn(self, size: int, rng: random.Random) -> RankingList:
        """At most `size` texts in random order, the one of the best grade among them."""
        best = max(range(len(self.texts)), key=self.grades.__getitem__)
        others = [place for place in range(len(self.texts)) if place != best]
        places = [best, *rng.sample(others, min(size - 1, len(others)))]
        rng.shuffle(places)
        return self._listed(places)

    def _listed(self, places: Sequence[int]) -> RankingList:
        texts = tuple(self.texts[place] for place in places)
        relevant = tuple(text in self.right for text in texts)
        return RankingList(self.text, texts, relevant, grades=tuple(self.grades[place] for place in places))
