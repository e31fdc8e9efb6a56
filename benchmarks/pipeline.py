"""A whole search against the model forward passes it contains, request by request in one session.

The search embeds the request and its sentences, ranks by words and by vectors over ToolBench's 4,331 APIs,
reranks as many candidates as the profile reads, decodes, applies the hierarchy (fetching and scoring further
APIs where it asks for them) and explains every hit. The forward passes are the same encoder and cross-encoder
calls with the same texts, and nothing else. Both run for every request, each first in turn; token ids of
documents are known to both.

`--limit N` takes N requests, `--profile NAME` another profile.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from shared_data import DATA

from kitpick.catalog import Catalog
from kitpick.model_set import ModelSet
from kitpick.settings import Settings
from kitpick_engines.opening import open_engine
from kitpick_engines.sentences import sentences_of
from kitpick_evaluation.datasets.published import open_dataset
from kitpick_rescorers.explain import explain
from kitpick_rescorers.models import Models
from kitpick_rescorers.scoring import Scorer
from kitpick_rescorers.stages import Requirement
from kitpick_rescorers.state import Degradation

WARM_UP = 5


class RecordingScorer:
    """The cross-encoder, and what it was asked."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        self.identity = scorer.identity
        self.manifest = scorer.manifest
        self.probability = scorer.probability
        self.calls: list[tuple[str, list[str]]] = []

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Scores, and remembers the question."""
        self.calls.append((query, list(texts)))
        return self.scorer.score(query, texts)


class FreshModels(ModelSet):
    """The models of a catalog that can begin anew: a search behind `begin` computes everything."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.recorded: RecordingScorer | None = None

    def begin(self) -> None:
        """Forgets vectors and scores, and what was recorded."""
        self.forget()
        self.recorded = None

    def for_needs(self, needs: frozenset[Requirement]) -> tuple[Models, tuple[Degradation, ...]]:
        """With a cross-encoder that records."""
        models, missing = super().for_needs(needs)
        if self.recorded is None and models.scorer is not None:
            self.recorded = RecordingScorer(models.scorer)
        return replace(models, scorer=self.recorded), missing


def main() -> None:
    """Prints a table and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--profile", default="kitpick")
    arguments = parser.parse_args()
    dataset = open_dataset("toolbench", arguments.data)
    queries = [query.text for query in dataset.queries]
    asked = queries[:: max(1, len(queries) // arguments.limit)][: arguments.limit]
    models = FreshModels(settings := Settings())
    with (
        TemporaryDirectory() as folder,
        Catalog(open_engine(f"sqlite:{folder}/toolbench.db"), settings, models) as catalog,
    ):
        catalog.ingest(dataset.source)
        measured = [
            measure(catalog, models, query, arguments.profile, turn) for turn, query in enumerate(asked)
        ]
    report(measured[WARM_UP:])


def measure(
    catalog: Catalog, models: FreshModels, query: str, profile: str, turn: int
) -> tuple[float, float, int]:
    """Milliseconds of the search and of its forward passes, and how many pairs were scored."""
    models.begin()
    search(catalog, query, profile)
    assert models.recorded is not None, "the profile scores"
    scorer, calls, sentences = models.recorded.scorer, models.recorded.calls, sentences_of(query)

    def whole() -> None:
        models.begin()
        search(catalog, query, profile)

    def passes() -> None:
        models.encoder.encode([query])
        if sentences:
            models.encoder.encode(sentences)
        for question, texts in calls:
            scorer.score(question, texts)

    steps = (whole, passes) if turn % 2 == 0 else (passes, whole)
    spent = {step: milliseconds(step) for step in steps}
    return spent[whole], spent[passes], sum(len(texts) for _, texts in calls)


def search(catalog: Catalog, query: str, profile: str) -> None:
    """One search with its explanation."""
    result = catalog.search(query, 10, profile=profile)
    if result.degraded:
        raise SystemExit(f"the search ran degraded: {result.degraded}")
    explain(result.trace, [hit.document.id for hit in result.hits]).text()


def milliseconds(step: Callable[[], None]) -> float:
    """Wall time of one call."""
    started = time.perf_counter()
    step()
    return (time.perf_counter() - started) * 1e3


def report(measured: Sequence[tuple[float, float, int]]) -> None:
    """Medians; the ratio is that of the medians, the overhead the median of the differences."""
    whole, passes, pairs = (statistics.median(column) for column in zip(*measured, strict=True))
    overhead = statistics.median(one - other for one, other, _ in measured)
    print(f"{'':24}{'median ms':>10}")
    print(f"{'whole search':24}{whole:>10.1f}")
    print(f"{'forward passes alone':24}{passes:>10.1f}")
    print(f"{'overhead':24}{overhead:>10.1f}")
    print(f"{len(measured)} requests, {pairs:.0f} pairs scored in the median")
    figures = {
        "overhead_ratio": whole / passes,
        "search_ms": whole,
        "forward_ms": passes,
        "overhead_ms": overhead,
    }
    print(json.dumps({key: round(value, 4) for key, value in figures.items()}))


if __name__ == "__main__":
    main()
