"""No command and no door looks a name up, opens a connection, or writes outside the folders it was given."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import every_door
import pytest
from every_door import commands

from kitpick.cli.main import COMMANDS, load_command

STRACE = shutil.which("strace")
CALLS = "trace=connect,sendto,sendmsg,sendmmsg,bind,openat,open,creat"
DOORS = ["mcp", "serve /ui/api/explain", "serve /v1/tools/search"]
PLACES = ("c", "embeddings", "trial", "state", "cache", "copied")
"""What kitpick writes: catalogs, embeddings, trial, locks, copies, downloaded specifications."""
ADDRESSED = "asks the address that it is given: that it asks no other one is for the tests of its client"
LIKE_EVAL = "reads a catalog and ranks, as eval does"
TORCH = "trains or converts with torch, which the environment of this test has not"
UNTRACED = {
    **dict.fromkeys(("adopt", "setup", "enrich", "eval-agent"), ADDRESSED),
    **dict.fromkeys(("adapt", "lint"), LIKE_EVAL),
    **dict.fromkeys([f"models {name}" for name in ("export", "import", "train", "distill")], TORCH),
    "doctor": "verifies models and opens the catalog, as models verify and list do",
    "feedback": "opens the catalog and embeds, as search does",
    "init": "asks questions, then ingests and searches",
}
"""Commands that are not run under a trace, each with the reason."""
_ADDRESS = re.compile(r'sin6?_port=htons\((\d+)\).*?(?:inet_addr\("|inet_pton\(AF_INET6, ")([^"]+)"')
_WRITTEN = re.compile(r'(?:openat\(\w+|openat\(AT_FDCWD|open\(|creat\(),? ?"([^"]*)", ([A-Z_|]+).*\) = \d+')
_LOOKED_UP = ("/etc/resolv.conf", "/etc/hosts", "/run/nscd/socket", "/run/systemd/resolve")
_FREE = ("/dev/", "/proc/self/", "/memfd:")


def violations(trace: str, folder: str) -> list[str]:
    """The lines of a trace that look a name up, leave the machine, or write outside a folder."""
    found = []
    for line in trace.splitlines():
        address, written = _ADDRESS.search(line), _WRITTEN.search(line)
        outside = address and not (address[2].startswith("127.") or address[2] in {"::1", "0.0.0.0", "::"})
        asked = (address and address[1] == "53") or any(f'"{place}' in line for place in _LOOKED_UP)
        writes = written and re.search("O_WRONLY|O_RDWR|O_CREAT", written[2])
        astray = writes and written and not written[1].startswith((folder, *_FREE))
        if outside or asked or astray:
            found.append(line[:300])
    return found


def test_no_command_is_forgotten() -> None:
    made = {name: getattr(load_command(name), "commands", {}) for name in COMMANDS}
    every = [f"{name} {below}".strip() for name, parts in made.items() for below in parts or ("",)]
    traced = {*commands(Path()), *(door.split()[0] for door in DOORS)}
    assert sorted(every) == sorted({*traced, *UNTRACED})
    assert not traced & set(UNTRACED)


def test_what_a_trace_tells() -> None:
    port = 'connect(5, {sa_family=AF_INET, sin_port=htons(%d), sin_addr=inet_addr("%s")}, 16) = 0'
    six = 'connect(5, {sa_family=AF_INET6, sin6_port=htons(443), inet_pton(AF_INET6, "%s", &sin6_addr)}, 28)'
    opened = 'openat(AT_FDCWD, "%s", %s, 0644) = 7'
    bad = [
        port % (443, "13.107.42.16"),
        port % (53, "127.0.0.53"),
        six % "2603:1030::1",
        'sendto(6, "x", 1, 0, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.0.0.2")}, 16)',
        opened % ("/etc/resolv.conf", "O_RDONLY|O_CLOEXEC"),
        opened % ("/home/me/.cache/onnxruntime.db", "O_RDWR|O_CREAT"),
    ]
    good = [
        port % (8080, "127.0.0.1"),
        six % "::1",
        opened % ("/work/c.db", "O_RDWR|O_CREAT"),
        opened % ("/dev/null", "O_WRONLY"),
        opened % ("/usr/lib/x.py", "O_RDONLY|O_CLOEXEC"),
        'openat(AT_FDCWD, "/home/me/x", O_RDWR|O_CREAT, 0644) = -1 EACCES (Permission denied)',
    ]
    assert violations("\n".join([*bad, *good]), "/work/") == bad


@pytest.mark.outside
@pytest.mark.needs("weights", "onnxruntime", "serve", "eval", "mcp", "strace")
def test_nothing_leaves_the_machine_or_the_folder(tmp_path: Path) -> None:
    home, traces, work = (tmp_path / name for name in ("home", "traces", "work"))
    for folder in (home, traces, work):
        folder.mkdir()
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("KITPICK_", "XDG_", "ORT_"))
    }
    own = {"HOME": str(home), "TMPDIR": str(work), "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
    own |= {f"XDG_{kind}_HOME": str(work / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA", "STATE")}
    own |= {"KITPICK_EMBEDDING_CACHE": str(work / "embeddings.db"), "KITPICK_THREADS": "1"}
    assert STRACE is not None
    # A file for each process and thread, read after all have ended: nothing is mixed, and nothing is missing.
    traced = [STRACE, "-ff", "--seccomp-bpf", "-qq", "-s", "200", "-e", CALLS, "-o", str(traces / "trace")]
    done = subprocess.run(
        [*traced, sys.executable, every_door.__file__, str(work)],
        env=kept | own,
        cwd=work,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    expected = [f"{name}: 0" for name in (*commands(work), *DOORS)]
    assert done.stdout.splitlines() == expected, done.stderr[-2_000:]
    files = sorted(traces.iterdir())
    text = "\n".join(file.read_text(errors="replace") for file in files)
    assert len(files) > len(DOORS)
    assert str(work / "c.db") in text, "the trace holds what is written"
    assert "AF_INET" in text, "and the connections to the service"
    assert violations(text, f"{work}/") == []
    assert list(home.rglob("*")) == []
    written = {path.relative_to(work).parts[0] for path in work.rglob("*") if path.is_file()}
    assert {name.partition(".")[0] for name in written} <= {*PLACES, "tools", "asked", "log"}
