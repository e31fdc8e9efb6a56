"""The rescorer service under load: against the same model without it, against other servers, and for long.

One process serves (`kitpick serve`), another asks, both on the same cores. Sides of a ratio are measured in
turn, several times, and medians are compared. `--part` takes one of:

- `load`: `vs_offline`, pairs a second of 32 clients that ask with 5 to 100 documents each, over those of one
  call of the model on the same pairs (tokenising included on both sides, nothing cached on either), and
  `p99_over_p50` of the latencies of those clients.
- `overhead`: `http_overhead_ms`, one client's latency over HTTP minus that of the same scoring without it.
- `rivals`: `vs_infinity`, the same load on this service and on other rerank servers that hold the shipped
  weights (`--infinity VENV`: a virtual environment with `infinity-emb[torch,server]` and `onnx`,
  `--local-reranker VENV`: one with `local-reranker` and `onnx`).
- `goodput`: `goodput_ratio_3`, `_8`, `_64`: searches a second that are answered in full and in time, with all
  scores, while so many clients lead searches to `POST /v1/search` (`serving/goodput.py`), over those of one
  client. `--search-deadline` and `--pause` (what the search server takes for one call's searches) in seconds.
  Who is refused stays away as long as `Retry-After` says; `--impatient`: for one pause only.
- `soak`: half as many requests again as the service can answer, for `--minutes`, while callers leave.

Without `--part`: `load` and `overhead`. `--seconds` of a round, `--rounds`, `--seed` of the first one,
`--clients`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from serving.goodput import GoodputRound, Plan
from serving.load import Load, http_overhead, offline_rate
from serving.process import UNCACHED, serving, tool_apis, tool_requests, tool_texts
from serving.relayed import MemoryServer, posting
from serving.rivals import rivalry
from serving.soak import soak
from shared_data import DATA

from kitpick_models.runtime import load_cross_encoder, load_encoder
from kitpick_models.settings import RuntimeSettings


def main() -> int:
    """Prints a table and, last, one JSON object."""
    options = arguments()
    texts = tool_texts(options.data)
    parts = [options.part] if options.part else ["load", "overhead"]
    figures: dict[str, float] = {}
    for part in parts:
        figures |= PARTS[part](texts, options)
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))
    return 0


def arguments() -> argparse.Namespace:
    """Of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--part", choices=sorted(PARTS))
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0, help="of the first round")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--search-deadline", type=float, default=1.0, help="seconds, of whole searches")
    parser.add_argument("--pause", type=float, default=0.02, help="seconds, of the search server")
    parser.add_argument("--impatient", action="store_true", help="clients do not heed Retry-After")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--deadline", type=float, default=60.0, help="seconds, of the requests of the soak")
    parser.add_argument("--waiting-tokens", type=int, default=600_000, help="that may wait in the soak")
    parser.add_argument("--infinity", type=Path, help="folder of a virtual environment")
    parser.add_argument("--local-reranker", type=Path, help="folder of a virtual environment")
    parser.add_argument("--data", type=Path, default=DATA)
    return parser.parse_args()


def load(texts: Sequence[str], options: argparse.Namespace) -> dict[str, float]:
    """Offline and served in turn."""
    model = load_cross_encoder(settings=RuntimeSettings(cached_tokens=0))
    loads, offline = [], []
    with serving() as served:
        for turn in range(options.seed, options.seed + options.rounds):
            offline.append(offline_rate(model, texts, seed=turn))
            loads.append(Load(f"{served.url}/rerank", texts, options.clients, options.seconds, seed=turn))
    rows = [(f"{rate:.0f}", *cells(found)) for rate, found in zip(offline, loads, strict=True)]
    table(("offline pairs/s", *COLUMNS), rows)
    figures = {
        "offline_pairs_per_second": statistics.median(offline),
        "service_pairs_per_second": statistics.median(found.rate for found in loads),
        "p50_ms": statistics.median(found.percentile(50) for found in loads),
        "p99_ms": statistics.median(found.percentile(99) for found in loads),
    }
    figures["vs_offline"] = figures["service_pairs_per_second"] / figures["offline_pairs_per_second"]
    figures["p99_over_p50"] = figures["p99_ms"] / figures["p50_ms"]
    return figures


def overhead(texts: Sequence[str], options: argparse.Namespace) -> dict[str, float]:
    """One client, over HTTP and not."""
    model = load_cross_encoder(settings=RuntimeSettings(cached_tokens=0))
    with serving() as served:
        return {"http_overhead_ms": http_overhead(served.url, model, texts)}


def rivals(texts: Sequence[str], options: argparse.Namespace) -> dict[str, float]:
    """This service and others in turn."""
    given = {"infinity": options.infinity, "local_reranker": options.local_reranker}
    venvs = {name: venv for name, venv in given.items() if venv is not None}
    seeds = range(options.seed, options.seed + options.rounds)
    found = rivalry(venvs, texts, options.clients, options.seconds, seeds)
    rows = [(name, *cells(each)) for name, rounds in found.items() for each in rounds]
    table(("server", *COLUMNS), rows)
    rates = {name: statistics.median(each.rate for each in rounds) for name, rounds in found.items()}
    figures = {f"{name}_pairs_per_second": rate for name, rate in rates.items()}
    return figures | {
        f"vs_{name}": rates["kitpick"] / rate for name, rate in rates.items() if name != "kitpick"
    }


def long(texts: Sequence[str], options: argparse.Namespace) -> dict[str, float]:
    """The soak. The caches are small enough to be full when memory begins to count."""
    bounded = ("score_cache=8192", "cached_tokens=100000", f"max_waiting_tokens={options.waiting_tokens}")
    with serving(("log_level=warning", f"deadline_seconds={options.deadline}", *bounded)) as served:
        figures = soak(served, texts, options.minutes, options.deadline).figures()
    table(("figure", "value"), [(name, f"{value:.3f}") for name, value in figures.items()])
    return figures


def goodput(texts: Sequence[str], options: argparse.Namespace) -> dict[str, float]:
    """Rounds of 1, 3, 8 and 64 clients, in turn."""
    apis, requests = tool_apis(options.data, APIS), list(tool_requests(options.data, REQUESTS))
    rounds: dict[int, list[GoodputRound]] = {clients: [] for clients in GOODPUT_CLIENTS}
    server = MemoryServer(apis, load_encoder())
    with serving(UNCACHED) as served:
        post = posting(served.url)
        recorded = [server.record(text, post) for text in requests]
        plan = Plan(options.seconds, options.search_deadline, options.pause, options.impatient)
        for _, clients in itertools.product(range(options.rounds), GOODPUT_CLIENTS):
            rounds[clients].append(GoodputRound(served.url, recorded, clients, plan))
    rows = [
        (str(clients), *(f"{each.rate(kind):.1f}" for kind in KINDS), each.spread("full"), str(each.counts()))
        for clients, found in rounds.items()
        for each in found
    ]
    table(("clients", *(f"{kind}/s" for kind in KINDS), "full ms (p99)", "searches"), rows)
    rates = {n: statistics.median(each.rate("full") for each in found) for n, found in rounds.items()}
    figures = {f"full_per_second_{clients}": rate for clients, rate in rates.items()}
    return figures | {f"goodput_ratio_{n}": rates[n] / rates[1] for n in GOODPUT_CLIENTS[1:] if rates[1]}


PARTS = {"load": load, "overhead": overhead, "goodput": goodput, "rivals": rivals, "soak": long}
GOODPUT_CLIENTS = (1, 3, 8, 64)
APIS, REQUESTS = 300, 60
KINDS = ("full", "part", "bare", "refused")
COLUMNS = ("pairs/s", "p50 ms", "p99 ms", "requests", "refused")


def cells(found: Load) -> tuple[str, ...]:
    """What `COLUMNS` name."""
    p50, p99 = found.percentile(50), found.percentile(99)
    return (f"{found.rate:.0f}", f"{p50:.0f}", f"{p99:.0f}", str(len(found.latencies)), str(found.refused))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints one."""
    made = Table(*columns, title=f"{os.cpu_count()} cores, server and clients together")
    for row in rows:
        made.add_row(*row)
    Console().print(made)


if __name__ == "__main__":
    sys.exit(main())
