"""A node that asks its rescorer over mutual TLS, with the stores of the plugin's own unit tests."""

from __future__ import annotations

import shutil
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from double import Double, answering, backwards
from keystore import write_key
from opensearch_node import opensearch_node
from searching import KEY, Search, report

pytestmark = [pytest.mark.needs("jdk"), pytest.mark.slow]

STORES = Path(__file__).resolve().parents[2] / "plugin" / "src" / "test" / "resources" / "tls"
PASSWORD = "changeit"


def asking(folder: Path) -> ssl.SSLContext:
    """The server's certificate, and a demand for that of the client."""
    pkcs12 = pytest.importorskip("cryptography.hazmat.primitives.serialization.pkcs12")
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    plain = serialization.NoEncryption()
    for name in ("server", "client"):
        store = (STORES / f"{name}.p12").read_bytes()
        key, certificate, _ = pkcs12.load_key_and_certificates(store, PASSWORD.encode())
        pem = serialization.Encoding.PEM
        (folder / f"{name}.crt").write_bytes(certificate.public_bytes(pem))
        private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
        (folder / f"{name}.key").write_bytes(private)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(folder / "client.crt"))
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    context.verify_mode = ssl.CERT_REQUIRED
    return context


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Double]:
    server = Double(asking(tmp_path))
    yield server
    server.close()


def test_a_node_shows_its_certificate_and_trusts_the_one_it_was_given(
    plugin_zip: Path, guarded: Double, tmp_path: Path
) -> None:
    (folder := tmp_path / "node").mkdir()
    settings = [f"kitpick.endpoint={guarded.url}", "kitpick.deadline=60s"]
    settings += ["kitpick.tls.truststore=trusted.p12", "kitpick.tls.keystore=client.p12"]
    node = opensearch_node(folder, [plugin_zip], settings=settings)
    for name in ("trusted", "client"):
        shutil.copy(STORES / f"{name}.p12", folder / "config")
    write_key(folder, KEY, truststore_password=PASSWORD, keystore_password=PASSWORD)
    try:
        search = Search(node.start().url)
        with guarded.behaving(answering(backwards)):
            answer = search()
            (headers,) = guarded.headers
    finally:
        node.stop()
    assert report(answer)["status"] == "rescored"
    assert headers["authorization"] == f"Bearer {KEY}"
