"""Lists out of one's own requests: right APIs among what the first stage proposes for the same request."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol

import msgspec

from toolrank_evaluation.training_sets.errors import EmptySplit
from toolrank_models.train.examples import RankingList

_TOWARDS_FRONT = 1.5
"""Wrong texts are drawn from the proposals with a density that falls with the rank: the first are hardest."""


class Drawable(Protocol):
    """A request that lists can be made of."""

    def candidates(self) -> RankingList:
        """The proposals as they come, which is what a reranker will be given."""

    def drawn(self, size: int, rng: random.Random) -> RankingList:
        """A list of at most `size` texts in random order."""


class OwnRequest(msgspec.Struct, frozen=True):
    """A request with the texts that answer it and those that a first stage proposed, best first."""

    text: str
    right: tuple[str, ...]
    proposed: tuple[str, ...]

    def candidates(self) -> RankingList:
        """The proposals as they come, which is what a reranker will be given."""
        return RankingList(self.text, self.proposed, tuple(text in self.right for text in self.proposed))

    def drawn(self, size: int, rng: random.Random) -> RankingList:
        """A list of at most `size` texts in random order, all right ones that fit among hard wrong ones."""
        right = self.right[: max(1, size - 1)]
        wrong = [text for text in self.proposed if text not in self.right]
        chosen = [(text, True) for text in right]
        for _ in range(min(size - len(right), len(wrong))):
            place = int(len(wrong) * rng.random() ** _TOWARDS_FRONT)
            chosen.append((wrong.pop(place), False))
        rng.shuffle(chosen)
        return RankingList(self.text, tuple(t for t, _ in chosen), tuple(label for _, label in chosen))


class OwnLists:
    """Training lists of one split of the requests, and the candidates of the other.

    Raises:
        EmptySplit: a split has no request.
    """

    def __init__(
        self, train: Sequence[Drawable], held_out: Sequence[Drawable], seed: int, list_size: int
    ) -> None:
        if not train:
            raise EmptySplit("own requests", "train")
        if not held_out:
            raise EmptySplit("own requests", "validation")
        self._train, self._held_out = train, held_out
        self._seed, self._size = seed, list_size
        self._order: tuple[int, list[int]] = (-1, [])

    def batch(self, step: int, size: int) -> list[RankingList]:
        """The `size` lists of one step; every request comes up once before one comes up again."""
        return [self._list(number) for number in range(step * size, (step + 1) * size)]

    def validation(self) -> Sequence[RankingList]:
        """The candidates of the requests held out."""
        return [request.candidates() for request in self._held_out]

    def sample_pairs(self, count: int) -> list[tuple[str, str]]:
        """Pairs (request, text), right and wrong ones: for int8 scales."""
        lists = [self._list(number) for number in range(count)]
        return [(item.query, item.texts[number % len(item.texts)]) for number, item in enumerate(lists)]

    def _list(self, number: int) -> RankingList:
        round_, place = divmod(number, len(self._train))
        if self._order[0] != round_:
            order = list(range(len(self._train)))
            random.Random(f"{self._seed}/order/{round_}").shuffle(order)
            self._order = round_, order
        rng = random.Random(f"{self._seed}/{number}")
        return self._train[self._order[1][place]].drawn(self._size, rng)
