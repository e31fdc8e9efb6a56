"""The rescorer as it is deployed: `kitpick serve` in a process of its own, with a key."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

KITPICK = str(Path(sys.executable).parent / "kitpick")


class Service(NamedTuple):
    """A running rescorer, and a key that it knows."""

    url: str
    key: str


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Service]:
    """Starts it on a free port, with further options; its key file lies in `folder`."""
    command = [KITPICK, "serve", "--new-key", "node"]
    said = subprocess.run(command, check=True, capture_output=True, text=True)
    line, _, entry = said.stdout.partition("\n")
    keys = folder / "keys.toml"
    keys.write_text(entry.replace("# speaks_for_others", "speaks_for_others"), "utf-8")
    log = folder / "service.log"  # a pipe that nobody reads would fill up and stop the service
    with log.open("wb") as errors:
        given = ["--port", "0", "--keys", str(keys), *options]
        process = subprocess.Popen([KITPICK, "serve", *given], stderr=errors)
    try:
        yield Service(_address(process, log), line.removeprefix("key: "))
    finally:
        process.terminate()
        process.wait(timeout=60)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    while process.poll() is None:
        if found := re.search(r"kitpick serves (http://\S+)", log.read_text("utf-8")):
            return found.group(1)
        time.sleep(0.05)
    raise RuntimeError(f"the service did not start:\n{log.read_text('utf-8')}")
