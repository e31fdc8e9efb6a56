"""What the benchmark of the plugin under load counts, and what it makes of the counts."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import plugin_rounds

    return plugin_rounds


def response(**said: Any) -> bytes:
    """Of a node."""
    return json.dumps({"hits": {"hits": []}, "ext": {"kitpick": said}}).encode()


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ({"status": "rescored", "took_ms": 7.0}, "rescored"),
        ({"status": "rescored", "degraded": [{"stage": "decode", "reason": "no vectors"}]}, "rescored"),
        ({"status": "rescored", "degraded": [{"stage": "cross_encode", "reason": "too late"}]}, "partial"),
        (
            {
                "status": "rescored",
                "degraded": [{"stage": "cross_encode", "reason": "2 texts are longer than 128"}],
            },
            "rescored",
        ),
        ({"status": "original", "reason": "shed"}, "shed"),
        ({"status": "original", "reason": "busy"}, "shed"),
        ({"status": "degraded", "reason": "circuit_open"}, "shed"),
        ({"status": "original", "reason": "timeout"}, "timeout"),
        ({"status": "skipped", "reason": "no_text"}, "no_text"),
    ],
)
def test_only_what_the_cross_encoder_ranked_counts_as_rescored(
    rounds: ModuleType, said: dict[str, Any], outcome: str
) -> None:
    assert rounds.of_node(200, response(**said)) == outcome


def test_a_search_without_the_plugin_and_a_failed_one_are_known(rounds: ModuleType) -> None:
    assert rounds.of_node(200, b'{"hits": {"hits": []}}') == "plain"
    assert rounds.of_node(503, b"") == "status 503"


def test_the_service_alone_is_counted_by_the_same_rule(rounds: ModuleType) -> None:
    assert rounds.of_service(200, b'{"results": [], "degraded": []}') == "rescored"
    assert rounds.of_service(200, b'{"degraded": [{"stage": "cross_encode", "reason": ""}]}') == "partial"
    assert rounds.of_service(429, b"{}") == "shed"


def test_what_the_service_alone_answers_too_late_does_not_count(rounds: ModuleType) -> None:
    found = rounds.within(of(rounds, 4, 10, rescored=[900, 1100], shed=[3]), 1.0)
    assert found.counts() == {"rescored": 1, "late": 1, "shed": 1}


def of(rounds: ModuleType, clients: int, seconds: float, **outcomes: list[float]) -> Any:
    """A round with these latencies, in ms, by outcome."""
    answers = [rounds.Answered(each / 1e3, name) for name, all_ in outcomes.items() for each in all_]
    return rounds.Round(clients, seconds, answers)


def test_the_ratio_compares_the_most_clients_with_the_service_beside_as_many(
    rounds: ModuleType,
) -> None:
    plain = of(rounds, 1, 10, plain=[20, 30, 40])
    few = of(rounds, 4, 10, rescored=[500] * 50)
    many = of(rounds, 64, 10, rescored=[700] * 45, partial=[900] * 30, shed=[34, 36, 90])
    alone = [of(rounds, 4, 10, rescored=[200] * count, shed=[1] * 99) for count in (60, 50)]
    idle = of(rounds, 4, 10, rescored=[100] * 90)
    figures = rounds.goodput_figures(
        [rounds.Beside(few, plain, alone[0], idle), rounds.Beside(many, plain, alone[1], idle)]
    )
    assert figures["goodput_per_second"] == {"4": 5.0, "64": 4.5}
    assert figures["service_alone_per_second"] == {"4": 6.0, "64": 5.0}
    assert figures["service_idle_machine_per_second"] == 9.0
    assert figures["window_goodput_ratio_64"] == 0.9
    assert figures["shed_added_ms"] == 6.0


def test_a_round_of_two_kinds_of_clients_is_parted(rounds: ModuleType) -> None:
    """`plain` is what came of those without the plugin."""
    rest, plain = rounds.parted(of(rounds, 6, 10, rescored=[5], shed=[1, 1], plain=[2, 2, 2]), 1)
    assert (rest.clients, rest.counts()) == (1, {"rescored": 1, "shed": 2})
    assert (plain.clients, plain.counts()) == (5, {"plain": 3})


def test_without_a_shed_search_nothing_is_said_of_their_cost(rounds: ModuleType) -> None:
    calm = of(rounds, 1, 10, rescored=[100])
    figures = rounds.goodput_figures([rounds.Beside(calm, of(rounds, 1, 10), calm, calm)])
    assert "shed_added_ms" not in figures


def test_a_service_that_did_nothing_is_no_measure(rounds: ModuleType) -> None:
    idle = of(rounds, 4, 10, shed=[1])
    figures = rounds.goodput_figures([rounds.Beside(idle, of(rounds, 1, 10, plain=[1]), idle, idle)])
    assert figures["window_goodput_ratio_4"] is None


def test_throughput_counts_what_was_done_in_full_over_all_turns(rounds: ModuleType) -> None:
    sides = {
        "own": [of(rounds, 4, 10, rescored=[1] * 40), of(rounds, 4, 10, rescored=[1] * 50, partial=[1] * 9)],
        "window": [of(rounds, 4, 20, rescored=[1] * 120)],
        "python": [of(rounds, 4, 20, rescored=[1] * 100)],
    }
    figures = rounds.throughput_figures(sides)
    assert figures["throughput_per_second"] == {"own": 4.5, "window": 6.0, "python": 5.0}
    assert figures["plugin_vs_python_throughput"] == 0.9
    assert figures["window_vs_python_throughput"] == 1.2


def test_a_round_asks_in_every_thread_until_its_time_is_over(rounds: ModuleType) -> None:
    found = rounds.run_round([lambda: "rescored", lambda: "shed"], 0.05)
    assert set(found.counts()) == {"rescored", "shed"}
    assert found.count() == len(found.answers)
    assert found.seconds >= 0.05


def test_goodput_of_own_queries_is_over_that_of_one_client(rounds: ModuleType) -> None:
    measured = [
        of(rounds, 1, 10, rescored=[1] * 20),
        of(rounds, 3, 10, rescored=[1] * 19, partial=[1] * 19),
        of(rounds, 8, 10, rescored=[1] * 10, timeout=[1] * 9, internal=[1]),
    ]
    figures = rounds.own_figures(measured)
    assert figures["own_per_second"] == {"1": 2.0, "3": 1.9, "8": 1.0}
    assert (figures["goodput_ratio_3"], figures["goodput_ratio_8"]) == (0.95, 0.5)
    assert (figures["words_share_3"], figures["words_share_8"]) == (0.0, 0.5)
    assert (figures["internal_3"], figures["internal_8"]) == (0, 1)
