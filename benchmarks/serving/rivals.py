"""Rerank servers of others, with the shipped cross-encoder's weights."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import msgspec

from kitpick_models.locate import find_model
from serving.load import Body, Load, tei_body
from serving.process import serving

INSTALL = (
    "--infinity VENV with `pip install 'infinity-emb[torch,server]' onnx`, "
    "--local-reranker VENV with `pip install local-reranker onnx`"
)
_MODEL = "shipped"
_START_SECONDS = 180
_QUIET = {"DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1", "INFINITY_ANONYMOUS_USAGE_STATS": "0"}
_INFINITY = {
    "infinity": ("--engine", "torch", "--no-bettertransformer"),
    "infinity_fused": ("--engine", "torch", "--bettertransformer"),
}
"""Ways to run infinity on a CPU: plain, and with PyTorch's fused encoder layers."""
_LOCAL_RERANKER = """
import sys
from local_reranker import api
api.DEFAULT_MODEL_NAME = sys.argv.pop(1)
api.run_server()
"""
"""The model of local-reranker is a constant."""


class Rival(msgspec.Struct, frozen=True):
    """A server of others, and how it is asked."""

    name: str
    command: Sequence[str]
    """Without the port."""
    path: str


def rivalry(
    venvs: Mapping[str, Path], texts: Sequence[str], clients: int, seconds: float, seeds: Iterable[int]
) -> dict[str, list[Load]]:
    """Rounds of load by server. All run at the same time, and are asked one after the other.

    `venvs` are folders of virtual environments, by what is installed there: `infinity`, `local_reranker`.
    """
    found: dict[str, list[Load]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) / _MODEL
        rivals = [rival for kind, venv in venvs.items() for rival in _rivals(kind, venv, folder)]
        if not rivals:
            raise SystemExit(f"no server of others is given: {INSTALL}")
        _unpacked(next(iter(venvs.values())), folder)
        servers: dict[str, tuple[str, Body]] = {
            "kitpick": (stack.enter_context(serving()).url + "/rerank", tei_body)
        }
        for rival in rivals:
            servers[rival.name] = (stack.enter_context(_running(rival)) + rival.path, documents_body)
        for seed in seeds:
            for name, (url, body) in servers.items():
                load = Load(url, texts, clients, seconds, seed=seed, body=body)
                found.setdefault(name, []).append(load)
    return found


def documents_body(query: str, texts: Sequence[str]) -> dict[str, object]:
    """What these servers take."""
    return {"model": _MODEL, "query": query, "documents": list(texts)}


def _rivals(kind: str, venv: Path, folder: Path) -> list[Rival]:
    programs = venv / "bin"
    if kind == "local_reranker":
        command = [str(programs / "python"), "-c", _LOCAL_RERANKER, str(folder), "--log-level", "error"]
        return [Rival("local_reranker", [*command, "--host", "127.0.0.1"], "/v1/rerank")]
    command = [str(programs / "infinity_emb"), "v2", "--model-id", str(folder), "--device", "cpu"]
    command += ["--served-model-name", _MODEL, "--log-level", "error"]
    return [Rival(name, [*command, *options], "/rerank") for name, options in _INFINITY.items()]


def _unpacked(venv: Path, folder: Path) -> None:
    script = Path(__file__).with_name("weights.py")
    command = [str(venv / "bin" / "python"), str(script), str(find_model("reranker-l6")), str(folder)]
    subprocess.run(command, check=True, env=_environment())


@contextmanager
def _running(rival: Rival) -> Iterator[str]:
    port = _free_port()
    command = [*rival.command, "--port", str(port)]
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
