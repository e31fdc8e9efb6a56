"""Own requests as something to learn from: graded or judged, in two splits, as lists or as one catalog."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

import msgspec

from kitpick_engines.document import ApiDocument
from kitpick_engines.text import retrieval_text
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_training.data.split import EmptySplit
from kitpick_training.examples import ClosedCatalog, RankingList, RetrievalSet

_TOWARDS_FRONT = 1.5
"""Wrong texts are drawn from the proposals with a density that falls with the rank: the first are hardest."""


class Question(Protocol):
    """A request in words."""

    @property
    def text(self) -> str:
        """What was asked."""


Request = TypeVar("Request", bound=Question)


def closed_catalog(
    name: str, documents: Sequence[ApiDocument], queries: Sequence[JudgedQuery], holdout: float
) -> ClosedCatalog:
    """The catalog's retrieval texts, with the requests in two splits.

    Args:
        name: of the catalog.
        documents: all of them, in the order in which texts are numbered.
        queries: requests whose relevant ids are all among `documents`.
        holdout: share of the requests that is held out, in (0, 1).

    Raises:
        EmptySplit: a split has no request.
    """
    train, held_out = split_queries(name, queries, holdout)
    place = {document.id: number for number, document in enumerate(documents)}

    def numbers(query: JudgedQuery) -> tuple[int, ...]:
        return tuple(sorted(place[id_] for id_ in query.relevant))

    return ClosedCatalog(
        tuple(query.text for query in train),
        tuple(numbers(query) for query in train),
        RetrievalSet(
            name,
            tuple(query.text for query in held_out),
            tuple(retrieval_text(document) for document in documents),
            tuple(numbers(query) for query in held_out),
        ),
    )


def split_queries(
    name: str, queries: Sequence[Request], holdout: float
) -> tuple[list[Request], list[Request]]:
    """Requests to learn from and to choose by, divided by a hash of their text: growth moves none.

    Raises:
        EmptySplit: a split has no request.
    """
    held_out = [query for query in queries if _place(query.text) < holdout]
    train = [query for query in queries if _place(query.text) >= holdout]
    if not train:
        raise EmptySplit(name, "train")
    if not held_out:
        raise EmptySplit(name, "validation")
    return train, held_out


def _place(text: str) -> float:
    digest = hashlib.blake2b(" ".join(text.lower().split()).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "big") / 2**64


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
