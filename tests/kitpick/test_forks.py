"""A process may be forked, or end, while a catalog is in use: neither hangs, and nothing aborts."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sizes import sized

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_foundation.fork_gate import FORKS_WAIT
from kitpick_rescorers.intents.store import Intent

pytestmark = [
    pytest.mark.needs("weights", "onnxruntime"),
    pytest.mark.sweep,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
]

_FORK_WHILE_OTHERS_SEARCH = """
import faulthandler, os, sys, threading, time
from kitpick import Catalog
from kitpick_foundation.fork_gate import FORKS_WAIT
FORKS_WAIT.longest_wait = 60.0  # however slow the machine is
catalog = Catalog.open(sys.argv[1])
before = [hit.id for hit in catalog.search("send a mail", k=3).hits]
stop = threading.Event()
def go_on(name):
    number = 0
    while not stop.is_set():
        number += 1
        catalog.search(f"send {number} mails to {name}", k=1)
threads = [threading.Thread(target=go_on, args=(name,)) for name in ("ann", "bob", "carl")]
[thread.start() for thread in threads]
children = []
for number in range(int(sys.argv[2])):
    time.sleep(0.1)
    child = os.fork()
    if not child:
        faulthandler.dump_traceback_later(float(sys.argv[3]) - 20, exit=True)
        try:
            found = catalog.search("send a mail", k=3)
            same = [hit.id for hit in found.hits] == before and not found.degraded
            print([hit.id for hit in found.hits], before, found.degraded, file=sys.stderr, flush=True)
            catalog.feedback(found.id, [], failed=[found.hits[2].id], client="ann")
            catalog.close()
            os._exit(0 if same else 3)
        except BaseException as error:
            print(type(error).__name__, error, file=sys.stderr, flush=True)
            os._exit(4)
    children.append(child)
stop.set()
[thread.join() for thread in threads]
until, codes = time.time() + float(sys.argv[3]), []
while children and time.time() < until:
    ended, status = os.waitpid(children[0], os.WNOHANG)
    if ended:
        codes.append(os.waitstatus_to_exitcode(status))
        children.pop(0)
    else:
        time.sleep(0.05)
for child in children:
    os.kill(child, 9)
    codes.append("hangs")
assert [hit.id for hit in catalog.search("send a mail", k=3).hits] == before
print(codes)
"""
_POOL = """
import multiprocessing, sys
from kitpick import Catalog
catalog = Catalog.open(sys.argv[1])
def work(text):
    return catalog.search(text, k=1).hits[0].document.api
work("send a mail")
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(set(pool.map_async(work, ["send a mail", "mail to Bob"] * 2).get(100)))
"""
_DAEMONS = """
import sys, threading, time
from kitpick import Catalog
catalog = Catalog.open(sys.argv[1])
catalog.search("send a mail")
for name in range(3):
    ask = lambda name=name: [catalog.search(f"send {n} mails to {name}") for n in range(10_000)]
    threading.Thread(target=ask, daemon=True).start()
time.sleep(0.3)
"""


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script, *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    return subprocess.run(command, capture_output=True, text=True, timeout=900, check=False, env=environment)


def test_children_that_are_forked_while_threads_search_find_the_same(catalog: Catalog) -> None:
    children = int(sized("KITPICK_FRESH_PROCESSES", 2, 30))
    done = run(_FORK_WHILE_OTHERS_SEARCH, catalog.settings.catalog, str(children), "100")
    assert done.stdout.strip() == str([0] * children), done.stderr[-2000:]


@pytest.mark.release
def test_none_of_many_children_hangs(catalog: Catalog) -> None:
    done = run(_FORK_WHILE_OTHERS_SEARCH, catalog.settings.catalog, "100", "500")
    assert done.stdout.strip() == str([0] * 100), done.stderr[-2000:]


def test_forks_wait_for_every_statement_of_every_door(
    settings: Settings, functions_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, outside = sqlite3.connect, list[str]()

    def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.set_trace_callback(lambda sql: None if FORKS_WAIT.occupied else outside.append(sql))
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced)
    with Catalog.open(settings=settings) as catalog:
        for kept in (8, 6):
            functions_file.write_text(json.dumps(json.loads(functions_file.read_text())[:kept]))
            catalog.ingest(f"functions:{functions_file}")
            (document, *_), found = list(catalog.documents()), catalog.search("send a mail", k=3)
            catalog.after(document.id)
            catalog.feedback(found.id, [found.hits[0].document.id], failed=[found.hits[1].document.id])
            catalog.add_intents([Intent("write to Bob", document.id)])
            catalog.confirmed("write to Bob")
            catalog.stats()
        catalog.forget()
    assert outside == []


def test_a_pool_of_forked_processes_uses_the_catalog_of_its_parent(catalog: Catalog) -> None:
    done = run(_POOL, catalog.settings.catalog)
    assert done.stdout.strip() == "{'send_email'}", done.stderr[-2000:]


def test_a_program_that_ends_while_daemon_threads_search_is_not_aborted(catalog: Catalog) -> None:
    done = run(_DAEMONS, catalog.settings.catalog)
    assert (done.returncode, done.stderr) == (0, "")
