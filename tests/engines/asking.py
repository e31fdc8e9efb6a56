"""Short ways to ask an engine, and to see whether its answer is of one state."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from catalogs import item, unit
from hypothesis import HealthCheck, settings

from kitpick_engines.contract import Engine, Filter, IndexedDocument, SearchRequest

MakeEngine = Callable[[], Engine]
EVERYTHING = Filter(principals=frozenset({"ann", "bob", "ops"}))

property_test = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.differing_executors,  # every engine inherits the same test
    ],
)


def words_of(engine: Engine, text: str, **of_filter: object) -> list[str]:
    """Ids of the lexical ranking, in its order."""
    found = engine.search(SearchRequest(text, None, 100, Filter(**of_filter)))
    assert all(candidate.dense is None for candidate in found)
    assert [candidate.lexical.rank for candidate in found] == list(range(1, len(found) + 1))
    return [candidate.id for candidate in found]


def dense_of(engine: Engine, vector: np.ndarray, size: int = 100, **of_filter: object) -> list[str]:
    """Ids of the dense ranking, in its order."""
    found = engine.search(SearchRequest("", vector, size, Filter(**of_filter)))
    assert all(candidate.lexical is None for candidate in found)
    assert [candidate.dense.rank for candidate in found] == list(range(1, len(found) + 1))
    return [candidate.id for candidate in found]


def ids(found: list) -> list[str]:
    return [each.id for each in found]


def places(candidate) -> tuple:
    """Id, ranks and scores, as exact as engines that count in float32 are."""
    rankings = (candidate.lexical, candidate.dense)
    return candidate.id, *(place and (place.rank, round(place.score, 5)) for place in rankings)


def generation(number: int) -> list[IndexedDocument]:
    """Twenty documents whose text, vector and name all tell the same number."""
    angle = unit(np.cos(number), np.sin(number))
    return [item(f"s/t/{n:02}", angle, description=f"weather g{number}", api=f"g{number}") for n in range(20)]


def mixture(engine: Engine) -> str:
    """Empty when one search shows a single generation, otherwise what is wrong."""
    found = engine.search(SearchRequest("weather", unit(1), 50))
    numbers = {int(candidate.api[1:]) for candidate in found}
    if len(found) != 20 or len(numbers) != 1:
        return f"{len(found)} documents of generations {numbers}"
    (number,) = numbers
    expected = unit(np.cos(number), np.sin(number))
    wrong = [c.id for c in found if not np.allclose(c.vector, expected) or not c.lexical or not c.dense]
    return f"wrong vectors or places: {wrong}" if wrong else ""
