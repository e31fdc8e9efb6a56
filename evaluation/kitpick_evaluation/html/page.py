"""The page of a comparison: text, tables and charts in one HTML document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib import resources

from kitpick_evaluation.comparison import ALPHA, Changed, Comparison, PairTest, Side
from kitpick_evaluation.html.svg import Bar, Point, bars, lines, reliability_diagram, scatter
from kitpick_evaluation.observations import DEPTHS
from kitpick_evaluation.report import MEAN, Report

_NUMBER = re.compile(r"^[-+–]?[\d.,]*%?$")


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that scrolls sideways on a narrow screen; cells that are numbers stand to the right."""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join(f"<tr>{''.join(_cell(text) for text in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(text: str) -> str:
    kind = ' class="number"' if _NUMBER.match(text) else ""
    return f"<td{kind}>{escape(text)}</td>"


_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Nothing can be loaded, whatever a request or a description contains."""


def comparison_page(comparison: Comparison) -> str:
    """One complete HTML document that loads nothing."""
    style = (resources.files(__package__) / "style.css").read_text("utf-8")
    title = f"{comparison.report.dataset}: {', '.join(comparison.report.profiles)}"
    body = "\n".join(_body(comparison))
    return (
        "<!doctype html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>\n{style}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _body(comparison: Comparison) -> Iterator[str]:
    report = comparison.report
    yield f"<h1>{escape(report.dataset)}: {escape(' · '.join(report.profiles))}</h1>"
    yield f'<p class="about">{escape(_about(report))}</p>'
    yield _summary(report)
    yield "<h2>Charts</h2>"
    yield f'<div class="charts">{"".join(charts(comparison))}</div>'
    yield f"<h2>Which differences are more than luck?</h2>{_tests(comparison.tests)}"
    yield f"<h2>Requests that changed most, by {escape(comparison.figure)}</h2>"
    if not comparison.changed:
        yield f"<p>No request differs in {escape(comparison.figure)}.</p>"
    yield from (_changed(changed, comparison.figure) for changed in comparison.changed)
    yield f"<h2>What this depends on</h2>{_provenance(report)}"


def _about(report: Report) -> str:
    sample = report.provenance.requests
    of = f" of {sample}" if sample > report.queries else ""
    return f"{report.queries}{of} requests with known answers. Intervals: 95 %, bootstrap over the requests."


def _summary(report: Report) -> str:
    names = list(report.rows[0].figures)
    timing = {item.profile: item for item in report.timings}
    cost = {item.profile: item for item in report.costs}
    rows = []
    for profile in report.profiles:
        row = report.overall(profile)
        figures = [f"{row.figures[name]:.3f}" for name in names]
        time = f"{timing[profile].median:.0f}" if profile in timing else "–"
        tokens = f"{cost[profile].tokens:.0f}" if profile in cost else "–"
        rows.append([profile, *figures, time, tokens])
    return table(["system", *names, "median ms", "tokens"], rows)


def _tests(tests: Sequence[PairTest]) -> str:
    about = (
        '<p class="about">Paired randomisation tests over the requests, corrected by Holm for their number; '
        f"a corrected p below {ALPHA:g} counts as a difference.</p>"
    )
    rows = [
        [
            test.figure,
            f"{test.better} over {test.worse}",
            f"{test.difference:+.4f} ({test.interval[0]:+.4f} to {test.interval[1]:+.4f})",
            f"{test.wins} / {test.losses}",
            f"{test.p:.4f}",
            f"{test.corrected:.4f}",
            "yes" if test.corrected < ALPHA else "no",
        ]
        for test in tests
    ]
    heads = ["figure", "pair", "difference", "wins / losses", "p", "corrected", "a difference?"]
    return about + table(heads, rows)


def _changed(changed: Changed, figure: str) -> str:
    one, other = changed.sides
    gap = f"{one.system} {one.figure:.3f}, {other.system} {other.figure:.3f}"
    wanted = "".join(_wanted(api, changed.sides) for api in changed.relevant)
    sides = "".join(_side(side, changed.relevant) for side in changed.sides)
    return (
        f"<details><summary>{escape(changed.text)} <em>({escape(figure)}: {escape(gap)})</em></summary>"
        f"<h3>Wanted</h3><ul>{wanted}</ul>"
        f'<div class="sides">{sides}</div></details>'
    )


def _wanted(api: str, sides: Iterable[Side]) -> str:
    places = ", ".join(f"{side.system}: {side.ranks.get(api) or 'not among the hits'}" for side in sides)
    return f"<li><b>{escape(api)}</b> {escape(places)}</li>"


def _side(side: Side, relevant: Sequence[str]) -> str:
    hits = "".join(f"<li{' class=hit' if api in relevant else ''}>{escape(api)}</li>" for api in side.hits)
    words = escape(side.explanation)
    stages = f"<details><summary>what each stage did</summary><pre>{words}</pre></details>" if words else ""
    return f"<section><h3>{escape(side.system)}</h3><ol>{hits}</ol>{stages}</section>"


def _provenance(report: Report) -> str:
    source = report.provenance
    facts = [
        ["requests and judgements", source.digest],
        ["catalog", source.catalog],
        ["seed", str(source.seed)],
        ["resamples", str(source.resamples)],
        *([f"model: {role}", identity] for role, identity in source.models.items()),
        *([f"profile: {name}", digest] for name, digest in source.profiles.items()),
    ]
    return table(["what", "which"], facts)


_MOST_SUBSETS = 14
"""Most subsets of a facet in a chart: a catalog can have hundreds of categories."""


def charts(comparison: Comparison) -> Iterator[str]:
    """The charts of a comparison, as figures."""
    report, figure = comparison.report, comparison.figure
    if report.timings:
        yield _figure(_against_time(report, figure), "Quality against latency: up and to the left is better.")
    if any(cost.tokens for cost in report.costs):
        hits = report.costs[0].hits
        text = f"Quality against the tokens of the first {hits} definitions: up and to the left is better."
        yield _figure(_against_tokens(report, figure), text)
    yield from _depths(comparison)
    if any(comparison.calibration.values()):
        yield _figure(
            _calibration(comparison), "Calibration of the scores: on the dashed line they say true."
        )
    for facet in ("subset", "kind", "seen", "relevant", "category"):
        if len({row.subset for row in report.rows if row.facet == facet}) > 1:
            yield _figure(_subsets(report, facet, figure), f"{figure} by {facet}.", wide=True)


def _against_time(report: Report, figure: str) -> str:
    place = {profile: index for index, profile in enumerate(report.profiles)}
    points = [
        Point(
            timing.median,
            report.overall(timing.profile).figures[figure],
            timing.profile,
            place[timing.profile],
        )
        for timing in report.timings
    ]
    return scatter("Quality against latency", points, "median ms of a search", figure, log_x=True)


def _against_tokens(report: Report, figure: str) -> str:
    place = {profile: index for index, profile in enumerate(report.profiles)}
    points = [
        Point(cost.tokens, report.overall(cost.profile).figures[figure], cost.profile, place[cost.profile])
        for cost in report.costs
        if cost.tokens
    ]
    return scatter("Quality against tokens", points, "tokens handed to the model", figure)


def _depths(comparison: Comparison) -> Iterator[str]:
    subsets = sorted({item.subset for found in comparison.depth_recall.values() for item in found})
    for subset in subsets:
        series = {
            profile: list(zip(DEPTHS, item.recall, strict=True))
            for profile, found in comparison.depth_recall.items()
            for item in found
            if item.subset == subset
        }
        title = f"Recall of the first m candidates, {subset} tools"
        drawn = lines(title, series, "m: candidates of the first stage", "recall@m", log_x=True)
        yield _figure(drawn, f"{title}: what no later stage can bring back.")


def _calibration(comparison: Comparison) -> str:
    series = {
        profile: [(item.probability, item.right) for item in bins]
        for profile, bins in comparison.calibration.items()
        if bins
    }
    return reliability_diagram("Calibration", series)


def _subsets(report: Report, facet: str, figure: str) -> str:
    sizes = {row.subset: row.queries for row in report.rows if row.facet == facet}
    ranked = sorted((name for name in sizes if name != MEAN), key=lambda name: -sizes[name])
    largest = set(ranked[:_MOST_SUBSETS]) | {MEAN}
    groups: dict[str, list[Bar]] = {}
    for subset in (name for name in sizes if name in largest):
        for index, profile in enumerate(report.profiles):
            row = report.row(subset, profile, facet)
            low, high = row.intervals[figure]
            groups.setdefault(subset, []).append(Bar(row.figures[figure], low, high, profile, index))
    return bars(f"{figure} by {facet}", groups, figure)


def _figure(drawing: str, caption: str, *, wide: bool = False) -> str:
    kind = ' class="wide"' if wide else ""
    return f"<figure{kind}><figcaption>{escape(caption)}</figcaption>{drawing}</figure>"
