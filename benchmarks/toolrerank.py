"""ToolRerank's table on ToolBench dev: a fixed 30 reranked against the whole of the paper, by subset.

Once with the shipped cross-encoder, which never saw these tools, and once with one that learned from the
silver requests of G3, as the paper's had seen its training tools. `--train` trains that one first, in
`--run FOLDER`, which keeps checkpoints; its data may be used for benchmarks only. `--data FOLDER`,
`--limit N` requests.
"""

# needs: train with --train
from __future__ import annotations

import argparse
import json
from pathlib import Path

import msgspec
from msgspec.structs import replace
from rich.console import Console
from rich.table import Table
from shared_data import DATA

from kitpick.catalog import Catalog
from kitpick.cli.progress import progress
from kitpick.evaluation.measuring import Judged, Plan, judged_dataset, measure
from kitpick_evaluation.datasets.published import judged_requests
from kitpick_evaluation.report import MEAN, ReportRow
from kitpick_training.own.requests import OwnTraining, train_on_own_requests
from kitpick_training.recipe import recipe_path

PROFILES = ("hybrid", "rerank", "toolrerank", "kitpick")
METRICS = ("ndcg@5", "recall@5")
Figures = dict[str, float]


def main() -> None:
    """Prints a table and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--limit", type=int)
    arguments = parser.parse_args()
    model = arguments.run / "toolbench-silver"
    plan = Plan(profiles=PROFILES, limit=arguments.limit, timed=0)
    figures: Figures = {}
    with judged_dataset("toolbench", arguments.data, plan, progress()) as judged:
        if arguments.train:
            train(judged, arguments.data, model)
        for name, reranker in (("shipped", None), ("silver", model)):
            rows = measure(reranked_by(judged, reranker), plan, progress()).rows
            figures |= shown(name, [row for row in rows if row.facet == "subset"])
    print(json.dumps(figures))


def train(judged: Judged, data: Path, model: Path) -> None:
    """The cross-encoder goes on learning from the silver requests that dev does not ask."""
    asked = {query.text for query in judged.queries}
    silver = judged_requests(data / "toolbench" / "queries_g3_silver_train.jsonl")
    others = tuple(query for query in silver if query.text not in asked)
    training = OwnTraining(
        recipe=recipe_path("toolbench-silver"),
        out=model,
        run=model.with_suffix(".run"),
        holdout=0.05,
    )
    report = train_on_own_requests(msgspec.structs.replace(judged, queries=others), training, progress())
    print(msgspec.json.encode(report).decode())


def reranked_by(judged: Judged, model: Path | None) -> Judged:
    """The same requests of the same engine, with another cross-encoder; None for the shipped one."""
    if model is None:
        return judged
    settings = replace(judged.catalog.settings, cross_encoder=str(model))
    return msgspec.structs.replace(judged, catalog=Catalog(judged.catalog.engine, settings))


def shown(name: str, rows: list[ReportRow]) -> Figures:
    """Prints the table of one cross-encoder."""
    subsets = list(dict.fromkeys(row.subset for row in rows if row.subset != MEAN))
    table = Table("profile", *subsets, "mean", title=f"{name}: NDCG@5 / recall@5")
    figures: Figures = {}
    for profile in PROFILES:
        found = {
            row.subset: [100 * row.figures[metric] for metric in METRICS]
            for row in rows
            if row.profile == profile
        }
        means = [sum(values) / len(values) for values in zip(*found.values(), strict=True)]
        cells = [*(found[subset] for subset in subsets), means]
        table.add_row(profile, *(f"{ndcg:.1f} / {recall:.1f}" for ndcg, recall in cells))
        figures |= {
            f"{name}.{profile}.{metric}": round(mean, 2) for metric, mean in zip(METRICS, means, strict=True)
        }
    Console(width=140).print(table)
    return figures


if __name__ == "__main__":
    main()
