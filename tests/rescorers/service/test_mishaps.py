"""What goes wrong around a service: killed copies, full disks, certificates, slips of operators."""

from __future__ import annotations

import datetime
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from commands import Run
from waiting import eventually, free_port

from kitpick_engines.contract import Candidate, Place
from kitpick_rescorers.request import RescoreRequest
from kitpick_service.client import ClientSettings, RescorerClient
from kitpick_service.exchange import NO_VECTOR

pytestmark = pytest.mark.needs("weights", "onnxruntime", "serve")
MAIN = "from kitpick.cli import main; main()"
WATCHED = """
import socket, sys
sys.addaudithook(lambda event, args: event == 'socket.connect' and print(args[1], flush=True))
socket.socket().connect_ex(('127.0.0.1', 9))
"""
CALL = {"query": "weather", "texts": ["weather of a city"]}


@contextmanager
def serving(port: int, program: str = MAIN, log: Any = None) -> Iterator[subprocess.Popen[str]]:
    """`kitpick serve` at a known port; killed at the end if it still runs."""
    command = [sys.executable, "-c", program, "serve", "--port", str(port), "--set", "warm_up_seconds=0"]
    with subprocess.Popen(
        command, stderr=log or subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            end = time.monotonic() + 300
            while not listens(port):
                assert process.poll() is None, "it ended"
                assert time.monotonic() < end, "it does not listen"
                time.sleep(0.05)
            yield process
        finally:
            process.kill()


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux")
def test_a_log_on_a_full_disk_stops_nobody() -> None:
    """Nothing else is ever written: the file system may be read-only."""
    port = free_port()
    with open("/dev/full", "w") as full, serving(port, log=full):  # noqa: PTH123
        for _ in range(3):
            assert httpx2.post(f"http://127.0.0.1:{port}/rerank", json=CALL, timeout=60).status_code == 200


def test_a_client_outlives_a_killed_copy() -> None:
    port = free_port()
    patient = ClientSettings(deadline=60, tries=50, backoff=0.1, failures=100)
    place = Place(1, 1.0)
    request = RescoreRequest("weather", [Candidate("a", "", "t", "a", "weather", NO_VECTOR, place, place)])
    with RescorerClient(f"http://127.0.0.1:{port}", settings=patient) as client:
        with serving(port) as first:
            before = client.rescore(request, "rerank")
            first.send_signal(signal.SIGKILL)
            first.wait(60)
        with serving(port):
            assert client.rescore(request, "rerank").results == before.results


def test_it_opens_no_connection_of_its_own() -> None:
    """Every call of `connect` in the process is reported while every endpoint is asked; one is made first."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with serving(port, program=WATCHED + MAIN) as process:
        for path in ("/health/ready", "/metrics", "/openapi.json", "/docs", "/v1/models"):
            assert httpx2.get(url + path, timeout=60).status_code == 200
        candidates = [{"id": "a", "text": "weather of a city"}]
        for path, body in (
            ("/rerank", CALL),
            ("/v1/rescore", {"query": "weather", "candidates": candidates}),
            ("/v2/rerank", {"query": "weather", "documents": ["a"], "model": "kitpick"}),
            ("/v1/embeddings", {"input": "weather", "model": "encoder-pair"}),
        ):
            assert httpx2.post(url + path, json=body, timeout=60).status_code == 200
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        assert process.stdout.read() == "('127.0.0.1', 9)\n"


def certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate of 127.0.0.1 with its key."""
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "rescorer")])
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return paths


def test_with_a_certificate_it_speaks_tls_and_nothing_else(start: Any, tmp_path: Path) -> None:
    public, private = certificate(tmp_path)
    trusting = ssl.create_default_context(cafile=str(public))
    with start(tls_certificate=str(public), tls_key=str(private)) as service:
        assert service.url.startswith("https://")
        assert service.post("/rerank", CALL, verify=trusting).status_code == 200
        with pytest.raises(httpx2.ConnectError):
            service.post("/rerank", CALL)
        with pytest.raises(httpx2.HTTPError):
            httpx2.get(service.url.replace("https", "http") + "/health/live", timeout=60)


def test_over_tls_an_idle_connection_stays_and_a_caller_that_stops_reading_is_cut_off(
    start: Any, tmp_path: Path
) -> None:
    public, private = certificate(tmp_path)
    trusting = ssl.create_default_context(cafile=str(public))
    with start(tls_certificate=str(public), tls_key=str(private), body_seconds=1.0) as service:
        with httpx2.Client(base_url=service.url, verify=trusting, timeout=60) as caller:
            for _ in range(2):
                assert caller.post("/rerank", json=CALL).status_code == 200
                time.sleep(2.5)
                assert service.service.connections.open == 1, "it has taken what was sent"
        eventually(lambda: service.service.connections.open == 0)
        body = json.dumps({"query": "q", "texts": ["word " * 10**6] * 2, "return_text": True}).encode()
        head = f"POST /rerank HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n".encode()
        plain = socket.create_connection(("127.0.0.1", service.port), timeout=60)
        with trusting.wrap_socket(plain, server_hostname="127.0.0.1") as deaf:
            deaf.sendall(head + body)
            eventually(lambda: service.service.connections.open == 0)


def test_over_tls_nobody_who_says_no_goodbye_is_waited_for_when_it_is_told_to_stop(
    start: Any, tmp_path: Path
) -> None:
    """The event loop by itself waits for half a minute."""
    public, private = certificate(tmp_path)
    trusting = ssl.create_default_context(cafile=str(public))
    settings = {"body_seconds": 600, "drain_seconds": 600}
    with start(tls_certificate=str(public), tls_key=str(private), **settings) as service:
        plain = socket.create_connection(("127.0.0.1", service.port), timeout=60)
        with trusting.wrap_socket(plain, server_hostname="127.0.0.1") as caller:
            caller.sendall(b"POST /rerank HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{")
            eventually(lambda: service.service.gate.waits)
            told = time.monotonic()
            service.stop()
            eventually(lambda: service.service.connections.open == 0)
            assert time.monotonic() - told < 20


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--keys", "nowhere.toml"), "nowhere.toml: cannot be read"),
        (("--set", "cross_encoder=nowhere"), "nowhere"),
        (("--profile", "nowhere"), "nowhere"),
        (("--set", "port"), "--set takes NAME=VALUE"),
    ],
)
def test_what_it_cannot_start_with_is_said_in_one_line(
    options: Sequence[str], said: str, kitpick: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    ended = kitpick("serve", "--port", "0", "--set", "warm_up_seconds=0", *options)
    assert ended.code != 0
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_a_certificate_that_is_not_there_is_said_in_one_line() -> None:
    options = ["--tls-certificate", "nowhere.pem", "--tls-key", "nowhere.pem"]
    command = [sys.executable, "-c", MAIN, "serve", "--port", "0", "--set", "warm_up_seconds=0", *options]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, check=False, env=os.environ | {"NO_COLOR": "1"}
    )
    assert done.returncode not in {0, None}
    assert "nowhere.pem: cannot be used" in done.stderr
    assert "Traceback" not in done.stderr
