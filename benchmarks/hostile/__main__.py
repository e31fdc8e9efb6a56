"""What is sent to break the service and its readers: a fixed list, with what each must get.

`--part list`, the default: a service (`kitpick serve`) gets every request of the list: bodies, documents,
headers, raw bytes on a socket. Files are read by the readers of untrusted text, each in a process of its
own; descriptions in which operations could vanish (`descriptions.py`) must give every one, or tell.
A second service has two tenants with a key each; one sends what might reach what is the other's, by keys and
by tokens of two issuers that are wrong in every way (`tokens.py`). A gateway
(`kitpick mcp`) has two servers, one of which answers wrongly in every way at every method (`gateway.py`).
Each case names the statuses (or, for files, the outcome) that are right; anything else is printed and counts
as `wrong`.

- `crashes`: processes that died, of the service or of a reader.
- `late`: answers that came more than a second after their deadline.
- `leaks`: answers to one tenant that hold what only another may see (`identities.py`).
- `peak_mb`: the most memory of service and gateway beyond what they hold once warm, models included there.
- `grown_mb`: resident memory of the service after all of it, minus before.
- `same_after`: 1 where a good request is answered to the last bit as before, else 0.

`--part soak`: a service with good clients, and in half of the `--minutes` as many hostile ones, who send the
list again and again (`soak.py`).

- `p99_ratio`: p99 of the good clients' seconds with hostile ones beside them, over that without.
- `errors_of_good`: answers to good clients that were not 200.

`--deadline` seconds of each request (of the list 5, of a soak 30), `--only PATTERN` of the names of cases,
`--clients` good ones of a soak.
"""

from __future__ import annotations

import argparse
import json
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psutil
from rich.console import Console
from rich.table import Table
from serving.process import Served, serving, tool_texts
from shared_data import DATA

from hostile import gateway
from hostile.cases import DOCUMENTS, NOT_JSON, Case, body, raw_cases, request_cases
from hostile.descriptions import description_cases
from hostile.identities import SECRET, identity_cases, two_tenants
from hostile.soak import soak
from hostile.tokens import token_cases

GRACE = 1.0
"""Seconds after its deadline at which an answer counts as late."""


@dataclass(frozen=True)
class FileCase:
    """A file for a reader, given as the name of a function in `READERS`."""

    group: str
    reader: str
    content: bytes


_ISSUER = (
    "import tempfile; from pathlib import Path; "
    "from kitpick_service.tokens import Issuer, TokenCheck; "
    "folder = Path(tempfile.mkdtemp()); "
    "trusted = [Issuer(name='i', issuer='i', audience=('a',), jwks='keys.json')]; "
    "check = lambda keys: ((folder / 'keys.json').write_text(keys), TokenCheck(trusted, folder))[1]; "
)
READERS = {
    "yaml": "from kitpick_foundation.yaml_values import parse_yaml; parse_yaml(data, 1_000_000)",
    "verbatim yaml": "from kitpick_foundation.yaml_values import parse_yaml; "
    "parse_yaml(data, 65_536, verbatim=True)",
    "profile": "from kitpick_rescorers.profiles import parse_profile; "
    "parse_profile(data.decode('utf-8', 'replace'), 'x.toml')",
    "keys": "from kitpick_service.keys import parse_keys; "
    "parse_keys(data.decode('utf-8', 'replace'), 'keys.toml')",
    "token": _ISSUER + "check('{\"keys\": []}').bearer(data.decode('latin-1'))",
    "claims": _ISSUER + "from base64 import urlsafe_b64encode as encoded; "
    "head = encoded(b'{\"alg\": \"ES256\"}').decode().rstrip('='); "
    "check('{\"keys\": []}').bearer(f'{head}.{encoded(data).decode().rstrip(chr(61))}.c2ln')",
    "key set": _ISSUER + "check(data.decode('utf-8', 'replace'))",
    "graph": "from kitpick_models.graph_file import keeps_weights_elsewhere; keeps_weights_elsewhere(data)",
    "manifest": "from pathlib import Path; import tempfile; "
    "from kitpick_models.manifest import read_manifest; "
    "folder = Path(tempfile.mkdtemp()); (folder / 'manifest.json').write_bytes(data); read_manifest(folder)",
}
"""Each reads `data`. A typed error, or a ValueError of the graph's reader, is a right outcome."""


def file_cases() -> Iterator[FileCase]:
    """Every file for every reader that it may do harm to."""
    for reader in READERS:
        for name in ("deep block", "deep flow", "merge bomb", "alias bomb", "digits", "controls", "quotes"):
            content = DOCUMENTS[name].encode("utf-8", "replace")
            yield FileCase(f"file for {reader}: {name}", reader, content)
        for name in ("nothing", "open list", "open object", "no UTF-8", "nul", "number"):
            yield FileCase(f"file for {reader}: {name}", reader, NOT_JSON[name])


class Tally:
    """What came of the cases so far."""

    def __init__(self) -> None:
        self.cases, self.late, self.crashes, self.leaks = 0, 0, 0, 0
        self.peaks: dict[str, float] = {}
        self.wrong: list[tuple[str, str]] = []

    def requests(self, served: Served, wanted: re.Pattern[str], deadline: float) -> None:
        """Sends every request whose name is wanted, while the service lives."""
        for case in request_cases():
            if wanted.search(case.group) and not self.crashes:
                self.cases += 1
                status, seconds = _asked(served.url, case, deadline)
                self.late += seconds > deadline + GRACE
                if status not in case.right:
                    self.wrong.append((case.group, f"{status} in {seconds:.1f} s"))
                self.crashes += not _lives(served.pid)
        for raw in raw_cases():
            if wanted.search(raw.group) and not self.crashes:
                self.cases += 1
                answer = _spoken(served.url, raw.sent)
                if not any(answer.startswith(start) and (start or not answer) for start in raw.right):
                    self.wrong.append((raw.group, repr(answer[:40])))
                self.crashes += not _lives(served.pid)

    def files(self, wanted: re.Pattern[str], deadline: float) -> None:
        """Has every file whose name is wanted read."""
        for case in file_cases():
            if wanted.search(case.group):
                self.cases += 1
                outcome = _read(case, deadline)
                self.crashes += outcome == "crash"
                self.late += outcome == "late"
                if outcome != "right":
                    self.wrong.append((case.group, outcome))

    def descriptions(self, wanted: re.Pattern[str]) -> None:
        """Has every description whose name is wanted read, in a process that may die of it."""
        names = [case.group for case in description_cases()]
        command = [sys.executable, "-m", "hostile.descriptions"]
        done = subprocess.run(command, capture_output=True, cwd=Path(__file__).parents[1], check=False)
        outcomes = dict(json.loads(line) for line in done.stdout.splitlines())
        self.crashes += done.returncode < 0
        for name in filter(wanted.search, names):
            self.cases += 1
            if (outcome := outcomes.get(name, "crash")) != "right":
                self.wrong.append((name, outcome))

    def tenants(self, wanted: re.Pattern[str], deadline: float) -> None:
        """Sends every request of one tenant that might reach what is another's."""
        with tempfile.TemporaryDirectory() as folder, two_tenants(Path(folder), deadline) as (served, ids):
            warm = gateway.peak_mb(served.pid)
            for case in (*identity_cases(ids), *token_cases()):
                if wanted.search(case.group):
                    self.cases += 1
                    answer, seconds = _answered(served.url, case, deadline)
                    status = 0 if answer is None else answer.status_code
                    self.late += seconds > deadline + GRACE
                    self.leaks += answer is not None and SECRET in answer.text
                    if status not in case.right:
                        self.wrong.append((case.group, f"{status} in {seconds:.1f} s"))
            self.crashes += not _lives(served.pid)
            self.peaks["tools"] = gateway.peak_mb(served.pid) - warm

    def gateway(self, wanted: re.Pattern[str]) -> None:
        """Has one of two servers behind a gateway do everything wrong."""
        cases = [each for each in gateway.gateway_cases() if wanted.search("gateway: {}, {}".format(*each))]
        with tempfile.TemporaryDirectory() as folder, gateway.gateway(Path(folder)) as served:
            gateway.outcome(served, "", "")
            warm = gateway.peak_mb(served.pid)
            for method, fault in cases:
                self.cases += 1
                outcome = gateway.outcome(served, method, fault)
                self.crashes += outcome == "crash"
                self.late += outcome == "late"
                if outcome != "right":
                    self.wrong.append((f"gateway: {method}, {fault}", outcome))
            self.peaks["gateway"] = gateway.peak_mb(served.pid) - warm

    def show(self) -> None:
        """Prints what was not right."""
        table = Table("case", "what it got instead", title=f"{self.cases} cases, {len(self.wrong)} wrong")
        for row in self.wrong:
            table.add_row(*row)
        Console().print(table)


def main() -> int:
    """Prints tables and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--part", choices=("list", "soak"), default="list")
    parser.add_argument("--deadline", type=float)
    parser.add_argument("--only", default="", help="regular expression")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    if options.part == "list":
        figures = whole_list(re.compile(options.only), options.deadline or 5.0)
    else:
        texts = tool_texts(options.data)
        with serving(("log_level=error",)) as served:
            figures = soak(served, texts, options.minutes, options.clients, options.deadline or 30.0)
    print(json.dumps(figures))
    return 0


def whole_list(wanted: re.Pattern[str], deadline: float) -> dict[str, object]:
    """Every case whose name is wanted, once."""
    tally, same, grown = Tally(), False, float("nan")
    settings = (f"deadline_seconds={deadline}", "body_seconds=2", "log_level=error")
    with serving(settings) as served:
        before, memory = _good(served.url), psutil.Process(served.pid).memory_info().rss
        tally.requests(served, wanted, deadline)
        if not tally.crashes:
            same = _good(served.url) == before
            tally.peaks["service"] = gateway.peak_mb(served.pid) - memory / 2**20
            grown = (psutil.Process(served.pid).memory_info().rss - memory) / 2**20
    tally.files(wanted, deadline)
    tally.descriptions(wanted)
    tally.tenants(wanted, deadline)
    tally.gateway(wanted)
    tally.show()
    figures: dict[str, object] = {"crashes": tally.crashes, "late": tally.late, "grown_mb": round(grown, 1)}
    peaks = {name: round(peak, 1) for name, peak in tally.peaks.items()}
    figures |= {"leaks": tally.leaks, "peak_mb": peaks}
    return {**figures, "same_after": int(same), "cases": tally.cases, "wrong": len(tally.wrong)}


def _lives(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _asked(url: str, case: Case, deadline: float) -> tuple[int, float]:
    """Status of the answer, 0 for none, and how long it took."""
    answer, seconds = _answered(url, case, deadline)
    return 0 if answer is None else answer.status_code, seconds


def _answered(url: str, case: Case, deadline: float) -> tuple[httpx2.Response | None, float]:
    started = time.perf_counter()
    try:
        answer = httpx2.post(url + case.path, content=case.body, headers=case.headers, timeout=4 * deadline)
    except httpx2.HTTPError:
        return None, time.perf_counter() - started
    return answer, time.perf_counter() - started


def _spoken(url: str, sent: bytes) -> bytes:
    """What comes back until the connection is closed, or nothing comes for five seconds."""
    host, _, port = url.removeprefix("http://").partition(":")
    received = b""
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        try:
            connection.sendall(sent)
            while chunk := connection.recv(65_536):
                received += chunk
        except OSError:
            pass
    return received


def _good(url: str) -> object:
    """The results of a good request."""
    call = body(
        query="weather", candidates=[{"id": "a", "text": "weather of a city"}, {"id": "b", "text": "x"}]
    )
    return httpx2.post(f"{url}/v1/rescore", content=call, timeout=60).json()["results"]


def _read(case: FileCase, seconds: float) -> str:
    """`right`, `late`, `crash`, or the untyped error that came out."""
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(case.content)
        script = (
            "from kitpick_foundation.errors import KitpickError\n"
            f"data = open({file.name!r}, 'rb').read()\n"
            "try:\n"
            f"    {READERS[case.reader]}\n"
            f"except {'(KitpickError, ValueError)' if case.reader == 'graph' else 'KitpickError'}:\n"
            "    pass\n"
        )
        try:
            done = subprocess.run(
                [sys.executable, "-c", script], capture_output=True, timeout=20 + seconds, check=False
            )
        except subprocess.TimeoutExpired:
            return "late"
    if done.returncode < 0:
        return "crash"
    return "right" if done.returncode == 0 else done.stderr.decode().strip().splitlines()[-1][:100]


if __name__ == "__main__":
    raise SystemExit(main())
