"""The model card: the manifest as prose."""

from __future__ import annotations

from collections.abc import Sequence

from kitpick_models.manifest import Manifest

_USES = {
    "encoder": "Turns requests and API descriptions into unit vectors; similar meaning, large inner product.",
    "cross_encoder": "Reads a request and one API description together and puts out one relevance logit.",
    "list_ranker": "Says of each candidate of a list how likely it serves the request, and whether any does.",
    "query_kind": "Says how likely a request needs more than one tool.",
}


def card(manifest: Manifest) -> str:
    """Markdown: use, origin, training data, figures, limits."""
    sections = [
        f"# {manifest.name} {manifest.version}",
        _USES[manifest.kind],
        "\n".join(_facts(manifest)),
        _table(
            "Trained on",
            ("data", "licence", "examples"),
            [(t.name, t.licence, f"{t.examples:,}" if t.examples else "") for t in manifest.training],
        ),
        _table(
            "Measured",
            ("benchmark", "figure", "value", "date", "command"),
            [(f.benchmark, f.figure, f"{f.value:g}", f.date, f"`{f.command}`") for f in manifest.figures],
        ),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _facts(manifest: Manifest) -> list[str]:
    facts = [f"- base model: {manifest.base_model}", f"- licence: {manifest.licence}"]
    if manifest.kind in {"encoder", "cross_encoder"}:
        facts += [f"- weights stored as {manifest.storage}", f"- reads {manifest.max_tokens} tokens at most"]
    if manifest.dimensions and not manifest.features:
        facts.append(f"- {manifest.dimensions} dimensions")
    if manifest.features:
        facts.append(f"- reads of a list of candidates: {', '.join(manifest.features)}")
    if manifest.encoder:
        facts.append(f"- reads vectors of {manifest.encoder}")
    if manifest.seen:
        facts.append(f"- trained on {len(manifest.seen):,} tools")
    return facts


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return f"## {title}\n\n" + "\n".join(lines)
