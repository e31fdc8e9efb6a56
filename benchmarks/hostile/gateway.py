"""A gateway over two MCP servers, one of which does every wrong thing there is: what is felt of it.

After each fault the hostile server is asked through the gateway, which must answer within its bound, and then
the good one by another caller, who must get what he always gets.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import psutil

from hostile.upstream import FAULTS, METHODS

TIMEOUT = 3.0
"""Seconds that the gateway waits for a server."""
_PATIENCE = 12.0
"""Beyond which an answer is late: a call that has to connect anew asks several times."""
_START = 60.0
_VERSION = "2025-06-18"
_ADDRESS = re.compile(r"http://[\d.:]+/mcp")


class Gateway(msgspec.Struct, frozen=True):
    """Where it listens, its process, and the file that says what the hostile server does."""

    url: str
    pid: int
    state: Path

    def break_(self, method: str, fault: str) -> None:
        """From now on the hostile server answers this method so."""
        told = self.state.with_suffix(".new")
        told.write_text(json.dumps({"method": method, "fault": fault}))
        told.replace(self.state)


def gateway_cases() -> list[tuple[str, str]]:
    """Methods and faults."""
    return list(itertools.product(METHODS, FAULTS))


@contextmanager
def gateway(folder: Path) -> Iterator[Gateway]:
    """`kitpick mcp` over HTTP with two callers, until the end of the block."""
    state, good = folder / "evil.json", folder / "good.json"
    for file in (state, good):
        file.write_text("{}")
    with ExitStack() as stack:
        ports = {name: _upstream(stack, file) for name, file in (("evil", state), ("good", good))}
        (folder / "mcp.toml").write_text(_config(ports))
        said = stack.enter_context((folder / "mcp.log").open("w"))
        command = [
            sys.executable,
            "-c",
            "from kitpick.cli import main; main()",
            "mcp",
            "--http",
            "--port",
            "0",
        ]
        command += ["--config", str(folder / "mcp.toml"), "-c", f"sqlite:{folder / 'mcp.db'}"]
        process = stack.enter_context(subprocess.Popen(command, stdout=said, stderr=said))
        stack.callback(process.kill)
        yield Gateway(_address(folder / "mcp.log", process), process.pid, state)


def outcome(served: Gateway, method: str, fault: str) -> str:
    """`right`, `late`, `crash`, or what somebody else got of it."""
    served.break_(method, fault)
    started = time.perf_counter()
    first = _called(served.url, "alice", "evil")
    if time.perf_counter() - started > _PATIENCE:
        return "late"
    if first is None or psutil.Process(served.pid).status() == psutil.STATUS_ZOMBIE:
        return "crash"
    served.break_("", "")
    other = _called(served.url, "bob", "good")
    return "right" if other is not None and "a note" in other else f"the good server: {str(other)[:60]}"


def _called(url: str, caller: str, server: str) -> str | None:
    """What a call of the server's tool answers; None for no answer."""
    params = {"name": "call_tool", "arguments": {"id": f"{server}/notes/read_note"}}
    return _rpc(url, caller, "tools/call", params)


def _rpc(url: str, caller: str, method: str, params: dict[str, Any]) -> str | None:
    """A call in a session of its own: what it answers, None where nothing comes."""
    headers = {"authorization": f"Bearer {caller}", "accept": "application/json, text/event-stream"}
    about = {
        "protocolVersion": _VERSION,
        "capabilities": {},
        "clientInfo": {"name": "hostile", "version": "1"},
    }
    try:
        with httpx2.Client(headers=headers, timeout=4 * _PATIENCE) as client:
            begun = client.post(url, json=_call(1, "initialize", about))
            if session := begun.headers.get("mcp-session-id"):
                client.headers["mcp-session-id"] = session
            client.headers["mcp-protocol-version"] = _VERSION
            client.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
            answer = client.post(url, json=_call(2, method, params))
            if session:
                client.delete(url)
    except httpx2.HTTPError:
        return None
    return answer.text if answer.status_code == 200 else None


def _call(number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def _upstream(stack: ExitStack, state: Path) -> int:
    command = [sys.executable, "-m", "hostile.upstream", str(state)]
    process = stack.enter_context(
        subprocess.Popen(
            command,
            cwd=Path(__file__).resolve().parents[1],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    )
    stack.callback(process.kill)
    assert process.stdout is not None
    return int(process.stdout.readline())


def _config(ports: dict[str, int]) -> str:
    upstreams = (
        f'[[upstreams]]\nname = "{name}"\ntarget = "http://127.0.0.1:{port}/mcp"\nallow = ["read_*"]\n'
        f"timeout_seconds = {TIMEOUT}\npoll_seconds = 1.0\n"
        for name, port in ports.items()
    )
    callers = (
        f'[[callers]]\nname = "{name}"\nmay_call = true\n'
        f'sha256 = "{hashlib.sha256(name.encode()).hexdigest()}"\n'
        for name in ("alice", "bob")
    )
    return "\n".join((*upstreams, *callers))


def _address(log: Path, process: subprocess.Popen[bytes]) -> str:
    until = time.monotonic() + _START
    while time.monotonic() < until and process.poll() is None:
        if found := _ADDRESS.search(log.read_text()):
            return found[0]
        time.sleep(0.2)
    raise SystemExit(log.read_text()[-500:])


def peak_mb(pid: int) -> float:
    """The most memory that a process ever held, in mebibytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1024
