"""What it costs to show a catalog to a model: all of it, deferred, or what a search found.

Only what differs between these ways is counted: tokens of definitions, the tokens of a conversation that a
changed prompt makes a cache lose, and the extra turn in which a model searches. A request is what a user
says once; the model is called several times for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Annotated

import msgspec

from kitpick_foundation.decoding import convert_to
from kitpick_foundation.errors import KitpickError, suggestion

SHIPPED_PRICES = Path(__file__).with_name("prices.toml")
SEARCH_TOKENS = 150
"""Tokens of the definition of a search, as the deferrals register it."""
SEARCH_TURN_TOKENS = 60
"""Tokens that a model writes to search: a call with one or two short capabilities."""
COMFORTABLE = 0.1
"""Share of the context window up to which a list of all tools leaves room for everything else."""
_Price = Annotated[float, msgspec.Meta(ge=0)]


class InvalidPrices(KitpickError):
    """A table of prices that cannot be used."""


class UnpricedModel(KitpickError):
    """A model that the table of prices does not name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(
            f"the table of prices has no model {name!r}: {suggestion(name, known)}; "
            f"give a table of your own with --prices, in the form of {SHIPPED_PRICES}"
        )


class ModelPrice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Dollars per million tokens of one model, and tokens of its context window."""

    input: _Price
    cached: _Price
    """Price of a token that the prompt cache serves."""
    written: _Price
    """Price of a token that is written to the prompt cache."""
    output: _Price
    window: Annotated[int, msgspec.Meta(gt=0)]


class PriceTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Prices of models on one day."""

    as_of: str
    models: dict[str, ModelPrice]

    def of(self, model: str) -> ModelPrice:
        """The prices of a model.

        Raises:
            UnpricedModel: the table does not name it.
        """
        if model not in self.models:
            raise UnpricedModel(model, sorted(self.models))
        return self.models[model]


class ModelUsage(msgspec.Struct, frozen=True):
    """How an agent asks its model."""

    k: Annotated[int, msgspec.Meta(ge=1)] = 5
    """Tools that a search finds."""
    calls: Annotated[int, msgspec.Meta(ge=1)] = 3
    """Calls of the model for one request: it calls a tool, reads the answer, says what came of it."""
    conversation: Annotated[int, msgspec.Meta(ge=0)] = 4_000
    """Tokens of everything else in the prompt: instructions and messages."""
    cached: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.95
    """Share of the calls that find the unchanged beginning of their prompt in the cache."""


class Way(msgspec.Struct, frozen=True):
    """One way of showing tools to a model."""

    name: str
    tokens: int
    """Tokens of definitions in one call."""
    window_share: float
    """`tokens` over the context window."""
    dollars: float
    """Cost of a thousand requests, without what is the same in every way."""


class Advice(msgspec.Struct, frozen=True):
    """What showing a catalog costs, and what to do."""

    model: str
    prices_as_of: str
    counter: str
    """What counted the tokens."""
    tools: int
    tokens: int
    """Tokens of all definitions."""
    usage: ModelUsage
    ways: tuple[Way, ...]
    worth_from: int
    """Number of tools of this size from which the cheaper way of searching costs less than sending all."""
    search: bool
    """Whether searching is worth it here."""
    reason: str


def read_prices(path: Path = SHIPPED_PRICES) -> PriceTable:
    """A table of prices from a TOML file.

    Raises:
        InvalidPrices: the file cannot be read, or is no such table.
    """
    try:
        return convert_to(msgspec.toml.decode(path.read_bytes()), PriceTable)
    except (OSError, msgspec.MsgspecError) as error:
        raise InvalidPrices(
            f"{path}: no table of prices: {error}; see {SHIPPED_PRICES} for the form"
        ) from error


def advise(model: str, prices: PriceTable, sizes: Sequence[int], counter: str, usage: ModelUsage) -> Advice:
    """Compares the ways for a catalog whose definitions have these sizes in tokens.

    Raises:
        UnpricedModel: no prices of the model are known.
    """
    price = prices.of(model)
    tokens, size = sum(sizes), mean(sizes) if sizes else 0.0
    found = round(min(usage.k, len(sizes)) * size)
    ways = tuple(
        Way(name, shown, shown / price.window, round(dollars, 4))
        for name, shown, dollars in (
            ("all", tokens, _all(tokens, price, usage)),
            ("deferred", SEARCH_TOKENS + found, _deferred(found, price, usage)),
            ("searched", found, _searched(found, price, usage)),
        )
    )
    searching = min(ways[1:], key=lambda way: way.dollars)
    worth_from = _worth_from(searching.dollars, size, price, usage)
    search, reason = _verdict(ways[0], searching)
    return Advice(model, prices.as_of, counter, len(sizes), tokens, usage, ways, worth_from, search, reason)


def _all(tokens: int, price: ModelPrice, usage: ModelUsage) -> float:
    """All definitions before the conversation: the same for everybody, so mostly cached."""
    each = usage.cached * price.cached + (1 - usage.cached) * price.written
    return tokens * usage.calls * each / 1_000


def _deferred(found: int, price: ModelPrice, usage: ModelUsage) -> float:
    """The model searches: one more call, and what it found behind the conversation from then on."""
    standing = SEARCH_TOKENS * (usage.calls + 1) * price.cached
    appended = found * (price.written + (usage.calls - 1) * price.cached)
    turn = usage.conversation * price.cached + SEARCH_TURN_TOKENS * price.output
    return (standing + appended + turn) / 1_000


def _searched(found: int, price: ModelPrice, usage: ModelUsage) -> float:
    """Others are found for each request: no more calls, but the conversation behind them is read anew."""
    prefix = found + usage.conversation
    kept = usage.conversation * price.cached
    return (prefix * price.written + (usage.calls - 1) * found * price.cached - kept) / 1_000


def _worth_from(dollars: float, size: float, price: ModelPrice, usage: ModelUsage) -> int:
    one = _all(1, price, usage) * size
    return int(dollars / one) + 1 if one > 0 else 0


def _verdict(everything: Way, searching: Way) -> tuple[bool, str]:
    if everything.window_share > COMFORTABLE:
        return True, (
            f"search: all definitions take {everything.window_share:.0%} of the context window, "
            f"{searching.name} tools {searching.window_share:.1%}"
        )
    if searching.dollars < everything.dollars:
        return True, (
            f"search: {searching.name} tools cost {searching.dollars:.2f} dollars per thousand requests, "
            f"all of them {everything.dollars:.2f}"
        )
    return False, (
        f"send all tools, in the same order each time: that costs {everything.dollars:.2f} dollars per "
        f"thousand requests, {searching.name} ones {searching.dollars:.2f}; kitpick is not worth it for cost"
    )
