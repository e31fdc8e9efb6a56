"""Every shipped profile on ToolBench dev (per subset) and ToolLens test: recall, NDCG and completeness at 5.

Those that ask a language model are left out.

`--limit N` takes N requests of each dataset, `--profile NAME` (repeatable) only these profiles.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from kitpick.cli.evaluate import print_report
from kitpick.cli.progress import progress
from kitpick.evaluation.measuring import Plan, judged_dataset, measure
from kitpick_rescorers.profiles import load_profile, shipped_profiles

METRICS = ["recall@5", "ndcg@5", "comp@5"]
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def main() -> None:
    """Prints one table a dataset and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--dataset", action="append")
    parser.add_argument("--profile", action="append")
    parser.add_argument("--limit", type=int)
    arguments = parser.parse_args()
    figures: dict[str, float] = {}
    for name in arguments.dataset or ["toolbench", "toollens"]:
        profiles = tuple(arguments.profile or without_language_model())
        plan = Plan(profiles=profiles, limit=arguments.limit, timed=0)
        with judged_dataset(name, arguments.data, plan, progress()) as judged:
            report = measure(judged, plan, progress()).report
        print_report(report, METRICS, ["subset"])
        for row in report.rows:
            if row.facet != "subset":
                continue
            for metric in METRICS:
                figures[f"{name}.{row.subset}.{row.profile}.{metric}"] = round(row.figures[metric], 4)
    print(json.dumps(figures))


def without_language_model() -> list[str]:
    """Profiles that run on what is shipped."""
    return [name for name in shipped_profiles() if "llm" not in load_profile(name).needs()]


if __name__ == "__main__":
    main()
