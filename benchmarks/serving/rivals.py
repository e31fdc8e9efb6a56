"""Rerank servers of others, with the shipped cross-encoder's weights."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2

from serving.load import Body, Load, tei_body
from serving.process import serving
from toolrank_models.locate import find_model

_MODEL = "shipped"
_START_SECONDS = 180
_QUIET = {"DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1", "INFINITY_ANONYMOUS_USAGE_STATS": "0"}
_INFINITY = {
    "infinity": ("--engine", "torch", "--no-bettertransformer"),
    "infinity_fused": ("--engine", "torch", "--bettertransformer"),
}
"""Ways to run infinity on a CPU: plain, and with PyTorch's fused encoder layers."""


def infinity_body(query: str, texts: Sequence[str]) -> dict[str, object]:
    """What infinity's `POST /rerank` takes."""
    return {"model": _MODEL, "query": query, "documents": list(texts)}


def rivalry(
    infinity: Path | None, texts: Sequence[str], clients: int, seconds: float, rounds: int
) -> dict[str, list[Load]]:
    """Rounds of load by server. All run at the same time, and are asked one after the other."""
    if infinity is None:
        raise SystemExit(
            "--infinity VENV: python -m venv VENV && VENV/bin/pip install 'infinity-emb[torch,server]' onnx"
        )
    found: dict[str, list[Load]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) / _MODEL
        _unpacked(infinity, folder)
        servers: dict[str, tuple[str, Body]] = {
            "toolrank": (stack.enter_context(serving()).url + "/rerank", tei_body)
        }
        for name, options in _INFINITY.items():
            url = stack.enter_context(_infinity(infinity, folder, options))
            servers[name] = (url + "/rerank", infinity_body)
        for turn in range(rounds):
            for name, (url, body) in servers.items():
                load = Load(url, texts, clients, seconds, seed=turn, body=body)
                found.setdefault(name, []).append(load)
    return found


def _unpacked(venv: Path, folder: Path) -> None:
    script = Path(__file__).with_name("weights.py")
    command = [str(venv / "bin" / "python"), str(script), str(find_model("reranker-l6")), str(folder)]
    subprocess.run(command, check=True, env=_environment())


@contextmanager
def _infinity(venv: Path, folder: Path, options: Sequence[str]) -> Iterator[str]:
    port = _free_port()
    command = [
        str(venv / "bin" / "infinity_emb"),
        "v2",
        "--model-id",
        str(folder),
        "--served-model-name",
        _MODEL,
    ]
    command += ["--device", "cpu", "--port", str(port), "--log-level", "error", *options]
    with subprocess.Popen(command, env=_environment(), stdout=sys.stderr) as process:
        url = f"http://127.0.0.1:{port}"
        try:
            _wait(url, process)
            yield url
        finally:
            process.terminate()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _START_SECONDS
    while not _healthy(url):
        if time.monotonic() > until or process.poll() is not None:
            raise SystemExit(f"the server at {url} did not start")
        time.sleep(0.5)


def _healthy(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/health", trust_env=False).status_code == 200
    except httpx2.HTTPError:
        return False


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _environment() -> Mapping[str, str]:
    return os.environ | _QUIET
