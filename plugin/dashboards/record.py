"""Writes the metrics of the plugin's nodes, and of a rescorer, into an index, one document each.

OpenSearch Dashboards shows what stands in an index: `opensearch-dashboards.ndjson` are panels over this one.
Prometheus and Grafana need none of this. It needs Python and nothing else.

Usage: python record.py http://search.internal:9200 [--rescorer URL] [--index NAME] [--every SECONDS]

User and password of the cluster are read from KITPICK_ENGINE_USER and KITPICK_ENGINE_PASSWORD, the rescorer's
key from KITPICK_RESCORER_KEY. Without `--every` it writes once, for a scheduler that starts it again.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import sys
import time
import urllib.request
from collections.abc import Iterator
from datetime import datetime, timezone

INDEX = "kitpick-metrics"
NODE_METRICS = "/_plugins/_kitpick/metrics"
_SAMPLE = re.compile(r"(?P<metric>kitpick_\w+?)(?:\{(?P<labels>.*)\})? (?P<value>[-+0-9.eE]+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ESCAPED = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


def main() -> None:
    """Records once, or until it is stopped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("cluster", help="address of OpenSearch")
    parser.add_argument("--rescorer", help="address of a rescorer")
    parser.add_argument("--index", default=INDEX, help="index or data stream")
    parser.add_argument("--every", type=float, help="seconds between two records")
    options = parser.parse_args()
    while True:
        try:
            count = record(options.cluster, options.rescorer, options.index)
            print(f"{count} metrics written to {options.index}")
        except (OSError, ValueError) as error:
            print(f"nothing written: {error}", file=sys.stderr)
            if options.every is None:
                raise SystemExit(1) from None
        if options.every is None:
            return
        time.sleep(options.every)


def record(cluster: str, rescorer: str | None = None, index: str = INDEX, at: datetime | None = None) -> int:
    """Writes what nodes and rescorer count now, and returns how many documents that are.

    Args:
        cluster: address of OpenSearch.
        rescorer: address of a rescorer.
        index: index or data stream.
        at: the time that is written beside it; now by default.

    Raises:
        OSError: one of them does not answer, or refuses.
        ValueError: OpenSearch did not take a document.
    """
    now = (at or datetime.now(timezone.utc)).isoformat(timespec="milliseconds")
    found = list(samples(_text(cluster + NODE_METRICS, _basic())))
    if rescorer is not None:
        text = _text(rescorer + "/metrics", _bearer())
        found += [{"rescorer": rescorer, **each} for each in samples(text)]
    lines = [line for each in found for line in ({"create": {}}, {"@timestamp": now, **each})]
    body = "".join(json.dumps(line) + "\n" for line in lines).encode()
    headers = {**_basic(), "Content-Type": "application/x-ndjson"}
    answer = json.loads(_text(f"{cluster}/{index}/_bulk", headers, body))
    if answer["errors"]:
        refused = next(item["create"]["error"] for item in answer["items"] if "error" in item["create"])
        raise ValueError(f"{index}: {refused['reason']}")
    return len(found)


def samples(text: str) -> Iterator[dict[str, object]]:
    """Metrics of Prometheus' text as documents: name, labels, value. Buckets of histograms are left out."""
    for line in text.splitlines():
        sample = _SAMPLE.fullmatch(line)
        if sample is not None and not sample["metric"].endswith("_bucket"):
            labels = {name: _unescaped(value) for name, value in _LABEL.findall(sample["labels"] or "")}
            yield {"metric": sample["metric"], **labels, "value": float(sample["value"])}


def _unescaped(value: str) -> str:
    return re.sub(r"\\.", lambda escaped: _ESCAPED.get(escaped[0], escaped[0]), value)


def _text(url: str, headers: dict[str, str], body: bytes | None = None) -> str:
    request = urllib.request.Request(url, body, headers)  # noqa: S310 - the operator names it
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return str(answer.read().decode())


def _basic() -> dict[str, str]:
    user, password = (os.environ.get(f"KITPICK_ENGINE_{name}", "") for name in ("USER", "PASSWORD"))
    said = base64.b64encode(f"{user}:{password}".encode()).decode()
    return {"Authorization": f"Basic {said}"} if user else {}


def _bearer() -> dict[str, str]:
    key = os.environ.get("KITPICK_RESCORER_KEY", "")
    return {"Authorization": f"Bearer {key}"} if key else {}


if __name__ == "__main__":
    main()
