"""Lists for the cross-encoder: a request, its right texts and hard negatives, as a function of the step."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from kitpick_engines.text import split_identifier
from kitpick_training.data.prepared import PreparedCatalog
from kitpick_training.data.styles import (
    drop_words,
    in_tool,
    narrative_request,
    roughened,
    short_request,
    with_value,
)
from kitpick_training.examples import RankingList


class Mixture(msgspec.Struct, frozen=True):
    """Shares of what the lists are made of, each in [0, 1]."""

    catalogs: dict[str, float]
    """Name of a catalog → its share of the lists."""
    two_asks: float = 0.28
    three_asks: float = 0.12
    same_tool: float = 0.45
    """Of joined requests: asks of one tool, as in "show the clips and the details of a channel"."""
    same_category: float = 0.30
    narrative: float = 0.5
    tool_named: float = 0.35
    with_value: float = 0.3
    words_dropped: float = 0.2
    without_answer: float = 0.1
    natural_joined: float = 0.0
    """Of requests as they were written: those that may be followed by others, as composed ones are."""
    offered_first: int = 5
    """At most so many of the texts that were offered with a request come before all others. Not a share."""


DEFAULT_MIXTURE = Mixture(
    {"written": 0.50, "openapi": 0.26, "bfcl": 0.08, "sealtools": 0.05, "metatool": 0.05, "tldr": 0.06},
    natural_joined=0.3,
)
WHOLE_MIXTURE = Mixture(
    {"operations": 0.46, "servers": 0.20, "bfcl": 0.15, "sealtools": 0.13, "metatool": 0.06},
    natural_joined=0.35,
    offered_first=1,
)
"""Written requests over all that their tools can do, with what a first stage proposes."""
KITS_MIXTURE = Mixture(
    {"kits": 0.56, "servers-2026": 0.18, "written": 0.12, "bfcl": 0.10, "metatool": 0.04},
    natural_joined=0.15,
    without_answer=0.05,
)
"""All that a plan calls, out of one catalog; and some of what was learned before, so that it stays."""
MIXTURES = {"shown": DEFAULT_MIXTURE, "whole": WHOLE_MIXTURE, "kits": KITS_MIXTURE}
"""Name in a recipe → what its lists are made of."""


class Ask(msgspec.Struct, frozen=True):
    """A request as text, the documents that answer it, and whether it says which tool is meant."""

    text: str
    requests: tuple[int, ...]
    relevant: tuple[int, ...]
    tool_named: bool


class ListSampler:
    """Draws lists out of prepared catalogs. Equal seeds, steps and data give equal lists.

    Args:
        catalogs: prepared training splits by name.
        validation: lists of the held-out splits.
        mixture: shares.
        seed: of the whole run.
        list_size: texts per list.
    """

    def __init__(
        self,
        catalogs: dict[str, PreparedCatalog],
        validation: Sequence[RankingList],
        mixture: Mixture,
        seed: int,
        list_size: int,
    ) -> None:
        self._catalogs, self._validation, self._mixture = catalogs, validation, mixture
        self._seed, self._size = seed, list_size

    def batch(self, step: int, size: int) -> list[RankingList]:
        """The `size` lists of one step."""
        rng = random.Random(f"{self._seed}/{step}")
        names = list(self._mixture.catalogs)
        chosen = rng.choices(names, list(self._mixture.catalogs.values()), k=size)
        return [draw_list(self._catalogs[name], self._mixture, self._size, rng) for name in chosen]

    def validation(self) -> Sequence[RankingList]:
        """Lists of held-out groups."""
        return self._validation

    def sample_pairs(self, count: int) -> list[tuple[str, str]]:
        """Pairs (request, text) of the training splits, right and wrong ones: for int8 scales."""
        lists = self.batch(-1, count)
        return [(item.query, item.texts[number % len(item.texts)]) for number, item in enumerate(lists)]


def draw_list(catalog: PreparedCatalog, mixture: Mixture, size: int, rng: random.Random) -> RankingList:
    """One training list of `size` texts (fewer where the catalog is tiny), in random order."""
    ask = draw_ask(catalog, mixture, rng)
    negatives = draw_negatives(catalog, ask, size - len(ask.relevant), rng, first=mixture.offered_first)
    if rng.random() < mixture.without_answer:
        right: tuple[int, ...] = ()
        negatives += draw_negatives(
            catalog, ask, size - len(negatives), rng, taken=negatives, first=mixture.offered_first
        )
    else:
        right = ask.relevant[:size]
    chosen = [(i, True) for i in right] + [(i, False) for i in negatives]
    rng.shuffle(chosen)
    return RankingList(
        ask.text,
        tuple(catalog.texts[i] for i, _ in chosen),
        tuple(label for _, label in chosen),
        catalog.catalog.name,
        doubtful=tuple(not label and _doubtful(catalog, ask, i) for i, label in chosen),
    )


def draw_ask(catalog: PreparedCatalog, mixture: Mixture, rng: random.Random) -> Ask:
    """A request: as it was written, or composed of one to three clauses."""
    first = _draw_request(catalog, rng)
    if _is_natural(catalog, first):
        return _natural_ask(catalog, first, mixture, rng)
    requests = (first, *_companions(catalog, first, mixture, rng))
    named = rng.random() < mixture.tool_named
    clauses = [_dressed(catalog, request, mixture, rng) for request in requests]
    if named:
        place = rng.randrange(len(clauses))
        tool = catalog.documents[catalog.relevant[requests[place]][0]].tool
        clauses[place] = in_tool(clauses[place], tool, rng)
    style = narrative_request if rng.random() < mixture.narrative else short_request
    relevant = tuple(dict.fromkeys(i for request in requests for i in catalog.relevant[request]))
    return Ask(roughened(style(clauses, rng), rng), requests, relevant, named)


def _natural_ask(catalog: PreparedCatalog, first: int, mixture: Mixture, rng: random.Random) -> Ask:
    """A request as it was written, or several of them one after another."""
    requests = [first]
    if mixture.natural_joined and rng.random() < mixture.natural_joined:
        further = _companions(catalog, first, mixture, rng)
        requests += [request for request in further if _is_natural(catalog, request)]
    texts = [catalog.catalog.requests[request].text for request in requests]
    ended = [text if text.endswith((".", "!", "?")) else f"{text}." for text in texts[:-1]]
    relevant = dict.fromkeys(i for request in requests for i in catalog.relevant[request])
    text = roughened(" ".join([*ended, texts[-1]]), rng)
    return Ask(text, tuple(requests), tuple(relevant), tool_named=False)


def _is_natural(catalog: PreparedCatalog, request: int) -> bool:
    return catalog.catalog.requests[request].form == "natural"


def _draw_request(catalog: PreparedCatalog, rng: random.Random) -> int:
    group = rng.choices(catalog.groups, cum_weights=catalog.group_weights)[0]
    return rng.choice(group)


def _companions(catalog: PreparedCatalog, first: int, mixture: Mixture, rng: random.Random) -> list[int]:
    """Up to two further clauses: of the same tool, of the same category, or of anything."""
    roll = rng.random()
    wanted = 2 if roll < mixture.three_asks else 1 if roll < mixture.three_asks + mixture.two_asks else 0
    document = catalog.documents[catalog.relevant[first][0]]
    kind = rng.random()
    if kind < mixture.same_tool:
        pool: Sequence[int] = catalog.asks_of_tool[document.tool_key]
    elif kind < mixture.same_tool + mixture.same_category:
        pool = catalog.asks_of_category[document.category]
    else:
        pool = range(len(catalog.relevant))
    chosen: list[int] = []
    for request in rng.sample(pool, min(4, len(pool))):
        others = [catalog.relevant[i][0] for i in (first, *chosen)]
        if len(chosen) < wanted and not any(
            catalog.means_the_same(catalog.relevant[request][0], o) for o in others
        ):
            chosen.append(request)
    return chosen


def _dressed(catalog: PreparedCatalog, request: int, mixture: Mixture, rng: random.Random) -> str:
    """The clause of a request, sometimes with a value, sometimes with words missing."""
    text = catalog.catalog.requests[request].text
    parameters = catalog.documents[catalog.relevant[request][0]].parameters
    if rng.random() < mixture.words_dropped:
        text = drop_words(text, 0.15, rng)
    if parameters and rng.random() < mixture.with_value:
        text = with_value(text, split_identifier(rng.choice(parameters[:4]).name), rng)
    return text


def draw_negatives(
    catalog: PreparedCatalog,
    ask: Ask,
    count: int,
    rng: random.Random,
    taken: Iterable[int] = (),
    first: int = 5,
) -> list[int]:
    """`count` wrong documents: of what was offered the first, neighbours, siblings, shelf mates, anything."""
    refused = {*ask.relevant, *taken, *_also_fair(catalog, ask)}
    offered = [i for request in ask.requests for i in catalog.offered[request]]
    chosen: list[int] = []
    for document in _proposals(catalog, ask, rng, rng.sample(offered, min(first, len(offered)))):
        if len(chosen) >= count:
            break
        if document not in refused and not _also_right(catalog, ask, document):
            refused.add(document)
            chosen.append(document)
    return chosen


def _proposals(
    catalog: PreparedCatalog, ask: Ask, rng: random.Random, offered: Sequence[int]
) -> Iterator[int]:
    yield from offered
    anchors = [catalog.documents[i] for i in ask.relevant]
    everything = range(len(catalog.documents))
    for _ in range(200):  # a catalog may have fewer wrong documents than wanted
        roll, anchor = rng.random(), rng.choice(anchors)
        if roll < 0.60:
            near = catalog.neighbours[rng.choice(ask.requests)]
            yield int(near[int(len(near) * rng.random() ** 1.5)])
        elif roll < 0.82:
            yield rng.choice(catalog.of_tool[anchor.tool_key])
        elif roll < 0.92:
            yield rng.choice(catalog.of_category[anchor.category])
        else:
            yield rng.choice(everything)


def _doubtful(catalog: PreparedCatalog, ask: Ask, document: int) -> bool:
    """Whether a document may answer as well: nobody looked at it for this request.

    Where the authors of requests listed the other answers, none is in doubt: a judge that reads such requests
    badly would otherwise take away the very texts that it has to learn to tell apart. Where they saw a few
    operations out of many, all others are. Else those of other tools are.
    """
    if ask.tool_named or catalog.alternatives_known:
        return False
    if any(document in catalog.offered[request] for request in ask.requests):
        return False
    if not catalog.catalog.judged:
        return True
    tools = {catalog.documents[i].tool_key for i in ask.relevant}
    return catalog.documents[document].tool_key not in tools


def _also_right(catalog: PreparedCatalog, ask: Ask, document: int) -> bool:
    """A document that says the same as a right one is no negative, unless the request names another tool."""
    for relevant in ask.relevant:
        other_tool = catalog.documents[relevant].tool_key != catalog.documents[document].tool_key
        if catalog.means_the_same(relevant, document) and not (ask.tool_named and other_tool):
            return True
    return False


def _also_fair(catalog: PreparedCatalog, ask: Ask) -> set[int]:
    """Documents that the author of a request held for as good an answer as the right ones."""
    return {document for request in ask.requests for document in catalog.also[request]}


def validation_lists(
    catalog: PreparedCatalog,
    mixture: Mixture,
    count: int,
    propose: Callable[[Sequence[str]], Sequence[Sequence[int]]],
    seed: int,
) -> list[RankingList]:
    """Lists in first-stage order, without documents that also answer; not every one holds the right text.

    Args:
        catalog: the held-out split.
        mixture: shares, as in training.
        count: number of lists, drawn with replacement where the split is small.
        propose: first-stage candidates (document numbers, best first) for each request text.
        seed: of the draw.
    """
    rng = random.Random(f"validation/{catalog.catalog.name}/{seed}")
    asks = [draw_ask(catalog, mixture, rng) for _ in range(count)]
    lists = []
    for ask, proposed in zip(asks, propose([ask.text for ask in asks]), strict=True):
        fair = _also_fair(catalog, ask)
        kept = [i for i in proposed if i in ask.relevant or not (i in fair or _also_right(catalog, ask, i))]
        texts = tuple(catalog.texts[i] for i in kept)
        relevant = tuple(i in ask.relevant for i in kept)
        lists.append(RankingList(ask.text, texts, relevant, catalog.catalog.name))
    return lists
