"""A search engine as a process of this machine: started on a free port, waited for, stopped or killed."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

READY_SECONDS = 300
"""A busy two-core machine takes 30; a hopeless start fails earlier, when the process ends."""
_STOP_SECONDS = 30
_SHOWN_LINES = 15


@dataclass
class Node:
    """One node. `folder` keeps its data over restarts; the port stays the same.

    `headers` are those of who may ask for the cluster's health, where not everybody may.
    """

    command: Sequence[str]
    folder: Path
    port: int
    environment: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Address of the HTTP port, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Id of the process, which is its process group's too."""
        assert self.process is not None, "the node was not started"
        return self.process.pid

    def start(self) -> Node:
        """Starts the process and waits until every index can be searched.

        Raises:
            RuntimeError: it ended, or was not ready in time; the message holds the end of its log.
        """
        log = self.folder / "stdout.log"
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                self.command, cwd=self.folder, env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        limit = time.monotonic() + READY_SECONDS
        while not self._is_ready():
            if self.process.poll() is not None or time.monotonic() > limit:
                self.stop()
                raise RuntimeError(f"no node on port {self.port}, see {log}:\n{_end_of(log)}")
            time.sleep(0.2)
        return self

    def stop(self) -> None:
        """Ends the process in good order, or by force where it takes too long."""
        if self.process is None:
            return
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()
        self.process = None

    def discard(self) -> None:
        """Ends the process at once, whatever it does: nobody needs what it holds."""
        if self.process is not None:
            self.kill()

    def kill(self) -> None:
        """`kill -9`: what a power cut leaves of the process."""
        assert self.process is not None, "the node was not started"
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process = None

    def _is_ready(self) -> bool:
        path = "/_cluster/health?wait_for_status=yellow&wait_for_no_initializing_shards=true&timeout=1s"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", path, headers=dict(self.headers))
            answer = connection.getresponse()
            health = json.loads(answer.read())
            return answer.status == 200 and not health["timed_out"]
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            return False
        finally:
            connection.close()


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def as_nobody() -> list[str]:
    """What makes root somebody else: neither engine runs as root. Files stay readable and writable."""
    if os.geteuid() != 0:
        return []
    return ["unshare", "--user"]


def _end_of(log: Path) -> str:
    lines = [line for line in log.read_text("utf-8", "replace").splitlines() if not line.startswith("\tat ")]
    return "\n".join(lines[-_SHOWN_LINES:])
