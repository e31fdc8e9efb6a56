"""Rounds of searches under load: what came of each search, and the figures and tables made of them.

Of `benchmarks/plugin_load.py`.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from rich.console import Console
from rich.table import Table

from kitpick_foundation.decoding import decode_as

REFUSED = frozenset({"busy", "shed", "too_many", "circuit_open"})
"""Reasons of searches that were spared the service, or that it refused."""
SCORES = "cross_encode"
Json = dict[str, Any]


# What came of a search


class Answered(NamedTuple):
    """One search: how long its client waited, and `rescored`, `partial`, `shed`, or why it was not."""

    seconds: float
    outcome: str


class Left(msgspec.Struct):
    """Something that could not be done."""

    stage: str = ""
    reason: str = ""

    def lacks_scores(self) -> bool:
        """Whether pairs were left unread. That a text was too long for the model is told, too."""
        return self.stage == SCORES and "texts are longer" not in self.reason


class Said(msgspec.Struct):
    """What the plugin says of a search, or the service of a call."""

    status: str = "rescored"
    reason: str = ""
    degraded: list[Left] = []


class Section(msgspec.Struct):
    """`ext` of a response."""

    kitpick: Said


class Response(msgspec.Struct):
    """A response of the node, as far as it matters here."""

    ext: Section | None = None


def outcome_of(said: Said) -> str:
    """`rescored` in full, `partial` without the cross-encoder, `shed`, or the reason of what went wrong."""
    if said.reason in REFUSED:
        return "shed"
    if said.status != "rescored":
        return said.reason or said.status
    return "partial" if any(each.lacks_scores() for each in said.degraded) else "rescored"


def of_node(status: int, body: bytes) -> str:
    """What came of a search; `plain` where the plugin had no part in it."""
    if status != 200:
        return f"status {status}"
    answer = decode_as(body, Response)
    return "plain" if answer.ext is None else outcome_of(answer.ext.kitpick)


def of_service(status: int, body: bytes) -> str:
    """What came of a call of the service's."""
    if status == 429:
        return "shed"
    return outcome_of(decode_as(body, Said)) if status == 200 else f"status {status}"


# Rounds


class Round(NamedTuple):
    """All that some clients asked, one search after the other each, in so many seconds."""

    clients: int
    seconds: float
    answers: Sequence[Answered]

    def count(self, *outcomes: str) -> int:
        """Searches with one of these outcomes; all without any."""
        return sum(not outcomes or each.outcome in outcomes for each in self.answers)

    def counts(self) -> dict[str, int]:
        """Searches by outcome."""
        return dict(Counter(each.outcome for each in self.answers))

    def rate(self, *outcomes: str) -> float:
        """The same for each second."""
        return self.count(*outcomes) / self.seconds

    def milliseconds(self, outcome: str, percent: float) -> float:
        """A percentile of the latencies of searches with this outcome; NaN where there are none."""
        found = [1e3 * each.seconds for each in self.answers if each.outcome == outcome]
        return float(np.percentile(found, percent)) if found else float("nan")


Ask = Callable[[], str]
"""Asks once, and says what came of it."""


def run_round(asks: Sequence[Ask], seconds: float) -> Round:
    """Each of `asks` in a thread of its own, at least once, until what was begun in time is answered."""
    started = time.perf_counter()
    found: list[list[Answered]] = [[] for _ in asks]

    def client(ask: Ask, into: list[Answered]) -> None:
        begun = time.perf_counter()
        while begun < started + seconds or not into:
            outcome = ask()
            into.append(Answered(time.perf_counter() - begun, outcome))
            begun = time.perf_counter()

    threads = [threading.Thread(target=client, args=each) for each in zip(asks, found, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Round(len(asks), time.perf_counter() - started, list(itertools.chain(*found)))


def together(rounds: Sequence[Round]) -> Round:
    """Several rounds as one."""
    answers = list(itertools.chain.from_iterable(each.answers for each in rounds))
    return Round(rounds[0].clients, sum(each.seconds for each in rounds), answers)


def parted(found: Round, clients: int) -> tuple[Round, Round]:
    """What that many clients were answered, and what all others, who searched without the plugin."""
    plain = [each for each in found.answers if each.outcome == "plain"]
    rest = [each for each in found.answers if each.outcome != "plain"]
    return Round(clients, found.seconds, rest), Round(found.clients - clients, found.seconds, plain)


def within(found: Round, seconds: float) -> Round:
    """The round with what was answered after a deadline as `late`: the plugin would not have waited."""
    answers = [each if each.seconds <= seconds else Answered(each.seconds, "late") for each in found.answers]
    return Round(found.clients, found.seconds, answers)


class Beside(NamedTuple):
    """The same number of clients through the plugin, and what they are compared with."""

    through: Round
    plain: Round
    """The one without the plugin meanwhile."""
    alone: Round
    """The service, asked directly, beside as many searches without the plugin."""
    idle: Round
    """The service, asked directly, while nothing else works."""


def goodput_figures(measured: Sequence[Beside]) -> Json:
    """The curve and that of the service alone; the ratio and what shed searches cost at the most clients."""
    last = measured[-1]
    clients = last.through.clients
    figures: Json = {
        "goodput_per_second": {
            str(each.through.clients): round(each.through.rate("rescored"), 2) for each in measured
        },
        "service_alone_per_second": {
            str(each.through.clients): round(each.alone.rate("rescored"), 2) for each in measured
        },
        "service_idle_machine_per_second": round(last.idle.rate("rescored"), 2),
        f"window_goodput_ratio_{clients}": ratio(last.through.rate("rescored"), last.alone.rate("rescored")),
    }
    if last.through.count("shed"):
        added = last.through.milliseconds("shed", 50) - last.plain.milliseconds("plain", 50)
        figures["shed_added_ms"] = round(added, 1)
    return figures


def throughput_figures(sides: Mapping[str, Sequence[Round]]) -> Json:
    """Searches a second that were done in full, by `own`, `window` and `python`; and two ratios."""
    rates = {name: together(rounds).rate("rescored") for name, rounds in sides.items()}
    return {
        "throughput_per_second": {name: round(rate, 2) for name, rate in rates.items()},
        "plugin_vs_python_throughput": ratio(rates["own"], rates["python"]),
        "window_vs_python_throughput": ratio(rates["window"], rates["python"]),
    }


def own_figures(rounds: Sequence[Round]) -> Json:
    """Own queries in full, by clients, over those of the first round; answers by words alone; `internal`."""
    alone, *others = rounds
    figures: Json = {
        "own_per_second": {str(each.clients): round(each.rate("rescored"), 2) for each in rounds}
    }
    for each in others:
        known = each.count("rescored", "partial")
        figures[f"goodput_ratio_{each.clients}"] = ratio(each.rate("rescored"), alone.rate("rescored"))
        figures[f"words_share_{each.clients}"] = ratio(each.count() - known, each.count())
        figures[f"internal_{each.clients}"] = each.count("internal")
    return figures


def ratio(part: float, whole: float) -> float | None:
    """None where there is nothing to compare with."""
    return round(part / whole, 3) if whole else None


# Tables


def show_goodput(measured: Sequence[Beside]) -> None:
    """A line for each number of clients."""
    columns = ("clients", "searches/s", "rescored/s", "partial/s", "shed/s", "others/s", "rescored ms (p99)")
    table = Table(*columns, "shed ms (p99)", "plain ms (p99)", "service alone/s")
    for each in measured:
        through = each.through
        known = ("rescored", "partial", "shed")
        others = through.rate() - through.rate(*known)
        table.add_row(
            str(through.clients),
            f"{through.rate():.1f}",
            *(f"{through.rate(outcome):.1f}" for outcome in known),
            f"{others:.1f}",
            spread(through, "rescored"),
            spread(through, "shed"),
            spread(each.plain, "plain"),
            f"{each.alone.rate('rescored'):.1f}",
        )
    Console(width=150).print(table)
    for each in measured:
        said = f"{each.through.counts()}; the service alone: {each.alone.counts()}"
        print(f"{each.through.clients} clients: {said}")


def show_own(rounds: Sequence[Round]) -> None:
    """A line for each number of clients."""
    table = Table(
        "clients", "searches/s", "in full/s", "without scores/s", "in full ms (p99)", "all outcomes"
    )
    for each in rounds:
        rates = (each.rate(), each.rate("rescored"), each.rate("partial"))
        shown = (f"{rate:.1f}" for rate in rates)
        table.add_row(str(each.clients), *shown, spread(each, "rescored"), str(each.counts()))
    Console(width=150).print(table)


def spread(found: Round, outcome: str) -> str:
    """Median and 99th percentile."""
    if not found.count(outcome):
        return "-"
    return f"{found.milliseconds(outcome, 50):.0f} ({found.milliseconds(outcome, 99):.0f})"


def show_throughput(sides: Mapping[str, Sequence[Round]]) -> None:
    """A line for each side."""
    table = Table("4 clients, all cores", "searches/s", "in full/s", "rounds", "ms (p99)")
    for side, rounds in sides.items():
        whole = together(rounds)
        each = " ".join(f"{one.rate('rescored'):.1f}" for one in rounds)
        table.add_row(
            side, f"{whole.rate():.1f}", f"{whole.rate('rescored'):.1f}", each, spread(whole, "rescored")
        )
    Console(width=110).print(table)
