"""The requests for skills in `datasets/`."""

from __future__ import annotations

from pathlib import Path

from kitpick_evaluation.datasets.queries_file import queries_file

FILE = Path(__file__).resolve().parents[3] / "datasets" / "skills.jsonl"
REPOSITORIES = ("K-Dense-AI/claude-scientific-skills/", "anthropics/skills/", "wshobson/agents/")


def test_every_request_names_skills_of_the_repositories() -> None:
    queries = queries_file(FILE)
    assert len(queries) == len({query.text for query in queries}) == 236
    named = {skill.removeprefix("skills/") for query in queries for skill in query.relevant}
    assert len(named) > 200
    assert all(skill.startswith(REPOSITORIES) for skill in named)
