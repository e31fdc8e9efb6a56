"""What showing tools costs: each way by hand, which one is advised, and tables of prices that are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick.advice import (
    SHIPPED_PRICES,
    Advice,
    InvalidPrices,
    ModelPrice,
    ModelUsage,
    PriceTable,
    UnpricedModel,
    advise,
    read_prices,
)
from kitpick.catalog import Catalog
from kitpick.errors import ExitCode

PRICE = ModelPrice(input=2.0, cached=1.0, written=3.0, output=10.0, window=10_000)
PRICES = PriceTable("2026-01-01", {"m": PRICE})
USAGE = ModelUsage(k=2, calls=3, conversation=1_000, cached=0.5)


def advice(*sizes: int, usage: ModelUsage = USAGE) -> Advice:
    return advise("m", PRICES, sizes, "by hand", usage)


def test_each_way_costs_what_it_costs_by_hand() -> None:
    everything, deferred, searched = advice(100, 100, 100, 100).ways
    # 400 tokens in 3 calls, half of them cached at 1, half written at 3.
    assert everything.dollars == pytest.approx(400 * 3 * 2 / 1_000)
    # The search's 150 tokens in 4 calls; 200 found are written once and read twice; the conversation is read
    # once more; 60 tokens are written by the model.
    assert deferred.dollars == pytest.approx((150 * 4 + 200 * (3 + 2) + 1_000 + 60 * 10) / 1_000)
    # 200 found and the conversation are written anew instead of read; 200 are read twice.
    assert searched.dollars == pytest.approx(((200 + 1_000) * 3 + 2 * 200 - 1_000) / 1_000)


def test_few_small_tools_are_sent_whole_and_the_advice_says_that_searching_is_not_worth_it() -> None:
    found = advice(20, 20, 20)
    assert not found.search
    assert "kitpick is not worth it" in found.reason


@pytest.mark.parametrize("count", [5, 40])
def test_from_the_number_it_names_on_searching_costs_less(count: int) -> None:
    named = advice(*([30] * count)).worth_from
    below, at = advice(*([30] * (named - 1))), advice(*([30] * named))
    assert min(way.dollars for way in below.ways[1:]) >= below.ways[0].dollars
    assert min(way.dollars for way in at.ways[1:]) < at.ways[0].dollars


def test_a_list_that_fills_the_window_is_searched_whatever_it_costs() -> None:
    usage = ModelUsage(k=2, calls=1, conversation=100_000, cached=1.0)
    found = advice(*([100] * 20), usage=usage)
    assert found.ways[0].dollars < min(way.dollars for way in found.ways[1:])
    assert found.search
    assert "20% of the context window" in found.reason


@given(st.lists(st.integers(1, 500), max_size=300))
def test_costs_are_finite_and_never_negative(sizes: list[int]) -> None:
    found = advice(*sizes)
    assert all(way.dollars >= 0 for way in found.ways)
    assert found.tokens == sum(sizes)


def test_an_unknown_model_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnpricedModel, match=r"no model 'claude-sonet-4-5': did you mean 'claude-sonnet-4-5'"):
        read_prices().of("claude-sonet-4-5")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "as_of = 1",
        'as_of = "x"\n[models.m]\ninput = -1',
        'as_of = "x"\n[models.m]\ninputs = 1',
        "\x00",
        "[[",
    ],
)
def test_a_table_of_prices_that_is_none_names_the_file(tmp_path: Path, text: str) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(text)
    with pytest.raises(InvalidPrices, match=r"prices\.toml"):
        read_prices(file)


def test_the_shipped_table_is_dated_and_its_caches_are_cheaper_than_their_input() -> None:
    table = read_prices(SHIPPED_PRICES)
    assert table.as_of == "2025-10-01"
    assert all(price.cached < price.input <= price.written < price.output for price in table.models.values())


@pytest.mark.needs("weights", "onnxruntime")
def test_the_command_counts_what_the_caller_may_see(catalog: Catalog, kitpick) -> None:
    printed = kitpick("advise", "--json")
    assert printed.code == ExitCode.OK
    said = json.loads(printed.out)
    assert said["tools"] == len(list(catalog.documents()))
    hidden = json.loads(kitpick("advise", "--json", "--tenant", "nobody").out)
    assert hidden["tools"] <= said["tools"]
    assert not said["search"], "eight small tools need no search"


@pytest.mark.needs("weights", "onnxruntime")
def test_the_command_says_of_when_its_prices_are_and_how_to_change_them(catalog: Catalog, kitpick) -> None:
    said = kitpick("advise", "-c", catalog.settings.catalog).err
    assert "prices of 2025-10-01" in said
    assert str(SHIPPED_PRICES) in said.replace("\n", "")
    assert "--prices" in said


def test_an_unknown_model_ends_the_command_before_the_catalog_is_read(kitpick) -> None:
    refused = kitpick("advise", "-c", "sqlite:nowhere.db", "--model", "gpt-55")
    assert refused.code == ExitCode.INPUT
    assert "did you mean 'gpt-5'" in refused.err
