"""The page of a comparison in a real browser: it stands alone, shows everything, and runs nothing."""

from __future__ import annotations

import json
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from kitpick_evaluation.calibration import ReliabilityBin
from kitpick_evaluation.comparison import Changed, Comparison, PairTest, Side
from kitpick_evaluation.html.page import comparison_page
from kitpick_evaluation.observations import DEPTHS, DepthRecall
from kitpick_evaluation.report import MEAN, Cost, Provenance, Report, ReportRow, Timing

HOSTILE = "<script>document.title='owned'</script><img src=https://example.com/x.png onerror=alert(1)>"
SYSTEMS = ("hybrid", "kitpick,encoder=another-encoder", HOSTILE)


def row(subset: str, profile: str, facet: str = "subset", value: float = 0.5) -> ReportRow:
    return ReportRow(subset, profile, 20, {"ndcg@5": value}, {"ndcg@5": (value - 0.1, value + 0.1)}, facet)


def comparison() -> Comparison:
    subsets = ("single", "multi", MEAN)
    rows = [
        row(name, system, value=0.5 + index / 20) for index, system in enumerate(SYSTEMS) for name in subsets
    ]
    rows += [row(f"category {n}", system, "category") for n in range(30) for system in SYSTEMS]
    report = Report(
        complete=True,
        dataset="shop",
        queries=20,
        provenance=Provenance(digest="d", requests=40, cutoffs=(5,), seed=0, resamples=10),
        rows=tuple(rows),
        costs=tuple(Cost(name, 5, 500.0 + 9 * index) for index, name in enumerate(SYSTEMS)),
        timings=tuple(Timing(name, 5, 20.0 * 3**index, 99.0) for index, name in enumerate(SYSTEMS)),
    )
    recall = tuple(0.2 + place / 20 for place in range(len(DEPTHS)))
    sides = (
        Side("hybrid", 0.0, ("x", "y"), {"a": None}),
        Side(HOSTILE, 1.0, ("a",), {"a": 1}, "fuse 0.1 ms"),
    )
    return Comparison(
        report=report,
        figure="ndcg@5",
        tests=(PairTest("kitpick", "hybrid", "ndcg@5", 0.05, (0.01, 0.09), 0.01, 0.03, 12, 3),),
        changed=(Changed("1", HOSTILE, ("a",), sides),),
        calibration={"kitpick": (ReliabilityBin(0.1, 0.05, 9), ReliabilityBin(0.9, 0.8, 4))},
        depth_recall={
            name: (DepthRecall("seen", 5, recall), DepthRecall("unseen", 5, recall)) for name in SYSTEMS
        },
    )


class Links(HTMLParser):
    """Everything that a browser would fetch or run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in {"script", "img", "link", "iframe", "object", "embed", "base", "form"}:
            self.found.append(tag)
        self.found += [
            name for name, _ in attributes if name in {"src", "href", "srcset"} or name.startswith("on")
        ]


PAGE = comparison_page(comparison())
PROBE = """<script>
const charts = [...document.querySelectorAll('svg.chart')];
const outside = charts.flatMap(chart => [...chart.querySelectorAll('text')].filter(text => {
  const a = chart.getBoundingClientRect(), b = text.getBoundingClientRect();
  return b.left < a.left - 1 || b.right > a.right + 1 || b.top < a.top - 1 || b.bottom > a.bottom + 1;
}).map(text => text.textContent));
const shade = colour => colour.match(/[0-9.]+/g).slice(0, 3).reduce((sum, part) => sum + +part, 0) / 765;
const style = getComputedStyle(document.body);
document.title = JSON.stringify({
  charts: charts.length, outside, text: shade(style.color), back: shade(style.backgroundColor),
  sideways: document.documentElement.scrollWidth - document.documentElement.clientWidth,
});
</script>"""


def test_nothing_is_fetched_and_nothing_runs() -> None:
    links = Links()
    links.feed(PAGE)
    assert links.found == []
    assert "default-src 'none'" in PAGE
    assert "url(" not in PAGE
    assert "@import" not in PAGE


def test_everything_asked_for_is_on_the_page() -> None:
    titles = re.findall(r'<svg class="chart"[^>]*><title>([^<]*)', PAGE)
    assert titles == [
        "Quality against latency",
        "Quality against tokens",
        "Recall of the first m candidates, seen tools",
        "Recall of the first m candidates, unseen tools",
        "Calibration",
        "ndcg@5 by subset",
        "ndcg@5 by category",
    ]
    assert "kitpick over hybrid" in PAGE
    assert "not among the hits" in PAGE
    assert "fuse 0.1 ms" in PAGE
    assert "20 of 40 requests" in PAGE


def shown(browser: str, page: Path, *arguments: str) -> str:
    """The document as the browser understood it. A network that is not there is not missed."""
    command = [
        browser,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--virtual-time-budget=2000",
    ]
    command += ["--host-resolver-rules=MAP * ~NOTFOUND", *arguments, "--dump-dom", page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.mark.needs("browser")
def test_a_browser_shows_the_page_as_it_was_written_and_runs_no_script(browser: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(PAGE)
    dom = shown(browser, page)
    assert dom.count('<svg class="chart"') == PAGE.count('<svg class="chart"')
    assert "<title>owned" not in dom
    assert "&lt;script&gt;" in dom


@pytest.mark.needs("browser")
@pytest.mark.parametrize("width", [1280, 500])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_label_is_cut_off_on_any_screen(browser: str, tmp_path: Path, width: int, scheme: str) -> None:
    page = tmp_path / "page.html"
    # The probe is a script, which the page's own policy forbids.
    page.write_text(re.sub(r"<meta http-equiv[^>]*>", "", PAGE).replace("</body>", PROBE + "</body>"))
    preference = "1" if scheme == "light" else "0"
    dom = shown(
        browser, page, f"--window-size={width},900", f"--blink-settings=preferredColorScheme={preference}"
    )
    found = re.search(r"<title>(\{.*?\})</title>", dom)
    assert found, dom[:500]
    probe = json.loads(found[1])
    assert probe["charts"] == 7
    assert probe["outside"] == []
    assert probe["sideways"] <= 0, "the page itself never scrolls sideways"
    darker, lighter = ("text", "back") if scheme == "light" else ("back", "text")
    assert probe[darker] < 0.2
    assert probe[lighter] > 0.7
