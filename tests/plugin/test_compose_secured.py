"""docker-compose.secured.yml without Docker: its settings, its start script and its roles on a real node.

The node is that of `secured_node`, which has no k-NN. `opensearch-keystore` is not on Maven Central: a script
of these tests that writes the same keystore stands in for it.
"""

from __future__ import annotations

import base64
import os
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import yaml
from jdk import find_jdk
from node_process import Node, free_port
from opensearch_node import opensearch_node
from plugin_node import build_for
from searching import Client, Refused, documents, report
from secured import PlainDialect
from secured_node import RECIPE, security_files

from kitpick_engines.contract import IndexedDocument, IndexSchema
from kitpick_engines.document import ApiDocument
from kitpick_engines.opensearch import OpenSearchCarrier
from kitpick_engines.remote.address import Credentials, parse_address
from kitpick_engines.remote.engine import RemoteEngine
from kitpick_engines.remote.server import SearchServer

pytestmark = [
    pytest.mark.needs("jdk", "opensearch", "serve", "onnxruntime", "weights", "curl"),
    pytest.mark.slow,
]

ROOT = Path(__file__).resolve().parents[2]
SERVICES: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.secured.yml").read_text("utf-8"))[
    "services"
]
USERS = ("writer", "reader", "operator")
READY_SECONDS = 300


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("secured") / "secrets"
    subprocess.run([ROOT / "scripts" / "secrets", folder], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def rescorer(secrets: Path) -> Iterator[str]:
    """Address of `kitpick serve` with the environment that the file gives it, ready by the file's check."""
    port = free_port()
    service = SERVICES["rescorer"]
    environment = {name: here(value, secrets / "rescorer") for name, value in service["environment"].items()}
    command = [str(Path(sys.executable).parent / "kitpick"), "serve", "--port", str(port)]
    process = subprocess.Popen(command, env={**os.environ, **environment})
    kind, program, *check = service["healthcheck"]["test"]
    assert (kind, program) == ("CMD", "python")
    try:
        wait(
            [sys.executable, *(here(each, secrets / "rescorer").replace("8080", str(port)) for each in check)]
        )
        yield f"https://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture(scope="module")
def node(secrets: Path, rescorer: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node with the file's settings, after the file's start script has run."""
    folder = tmp_path_factory.mktemp("secured-compose")
    service = SERVICES["opensearch"]
    settings = {name: str(value) for name, value in service["environment"].items() if "." in name}
    assert settings.pop("kitpick.endpoint") == "https://rescorer:8080"
    named = [f"{name}={value}" for name, value in settings.items()]
    named += [f"kitpick.endpoint={rescorer}", "kitpick.deadline=60s"]
    zips = [build_for(RECIPE)]
    running = opensearch_node(folder, zips, settings=named, recipe=RECIPE)
    security_files(folder / "config" / "opensearch-security", {}, {})
    start_script(folder, secrets)
    with (folder / "stdout.log").open("wb") as log:
        running.process = subprocess.Popen(
            running.command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    _, *check = service["healthcheck"]["test"]
    try:
        wait([here(each, secrets / "opensearch").replace("9200", str(running.port)) for each in check])
        yield running
    finally:
        running.stop()


def start_script(folder: Path, secrets: Path) -> None:
    """Runs the container's entry point, with the real keytool and the security plugin's real hasher."""
    java = find_jdk()
    assert java is not None
    image = folder / "image"
    for name in ("bin", "plugins/opensearch-security/tools"):
        (image / name).mkdir(parents=True)
    (image / "jdk").symlink_to(java)
    (image / "config").symlink_to(folder / "config")
    libraries = f"{folder}/home/plugins/opensearch-security/*:{folder}/home/lib/*"
    program(
        image / "plugins/opensearch-security/tools/hash.sh",
        f'exec {java}/bin/java -cp "{libraries}" org.opensearch.security.tools.Hasher "$@"',
    )
    keystore = Path(__file__).with_name("Keystore.java")
    entries = folder / "entries"
    program(
        image / "bin" / "opensearch-keystore",
        f'[ "$1" = add ] || exit 0\necho "${{@: -1}}" >> {entries}\ncat >> {entries}\necho >> {entries}\n'
        f"mapfile -t all < {entries}\n"
        f'exec {java}/bin/java -cp "{folder}/home/lib/*" {keystore} {folder}/config "${{all[@]}}"',
    )
    program(image / "opensearch-docker-entrypoint.sh", f'echo "$@" > {folder}/entered')
    entry = SERVICES["opensearch"]["entrypoint"]
    assert entry == ["bash", "/opt/kitpick/start.sh"]
    environment = {
        "OPENSEARCH_HOME": str(image),
        "KITPICK_SECRETS": str(secrets / "opensearch"),
        "KITPICK_ROLES": str(ROOT / "plugin" / "secured"),
    }
    command = ["bash", str(ROOT / "plugin" / "secured" / "start.sh")]
    subprocess.run(command, check=True, env={**os.environ, **environment}, capture_output=True)
    assert (folder / "entered").read_text("utf-8") == "opensearch\n"


def program(file: Path, body: str) -> None:
    file.write_text(f"#!/usr/bin/env bash\nset -e\n{body}\n", "utf-8")
    file.chmod(0o755)


def here(text: str, mounted: Path) -> str:
    return str(text).replace("/run/kitpick", str(mounted))


def wait(check: list[str]) -> None:
    limit = time.monotonic() + READY_SECONDS
    while (done := subprocess.run(check, capture_output=True, text=True, check=False)).returncode:
        assert time.monotonic() < limit, done.stderr
        time.sleep(0.5)


class Person(Client):
    """One who asks the node over TLS; without a name, nobody."""

    def __init__(self, node: Node, secrets: Path, user: str = "") -> None:
        trusted = ssl.create_default_context(cafile=str(secrets / "authority" / "ca.pem"))
        self.opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=trusted))
        headers = {}
        if user:
            password = (secrets / "opensearch" / f"{user}.password").read_text("utf-8")
            credentials = Credentials(f"kitpick_{user}", password)
            headers = {"Authorization": f"Basic {basic(credentials)}"}
        super().__init__(f"https://127.0.0.1:{node.port}", headers)

    def open(self, request: urllib.request.Request) -> Any:
        return self.opener.open(request, timeout=60)


def basic(credentials: Credentials) -> str:
    return base64.b64encode(f"{credentials.user}:{credentials.password}".encode()).decode()


def code(client: Client, method: str, path: str, body: object = None) -> int:
    try:
        client.call(method, path, body)
    except Refused as refused:
        return refused.status
    return 200


@pytest.fixture(scope="module")
def filled(node: Node, secrets: Path) -> Person:
    """The writer, who has made an index and a pipeline."""
    writer = Person(node, secrets, "writer")
    settings = {"index": {"number_of_replicas": 0}}
    writer.fill("tools-apis-made", documents(5), {"settings": settings})
    writer.put("/_search/pipeline/tools", {"response_processors": [{"kitpick": {}}]})
    return writer


def test_the_rescorer_answers_the_plugin_over_tls_and_knows_its_key(
    node: Node, secrets: Path, filled: Person
) -> None:
    body = {
        "size": 2,
        "query": {"match": {"text": "weather forecast"}},
        "ext": {"kitpick": {"profile": "hybrid"}},
    }
    answer = Person(node, secrets, "reader").call(
        "POST", "/tools-apis-made/_search?search_pipeline=tools", body
    )
    assert report(answer)["status"] == "rescored", report(answer)


def test_nobody_is_let_in_without_a_name_or_without_tls(node: Node, secrets: Path, filled: Person) -> None:
    assert code(Person(node, secrets), "GET", "/tools-apis-made/_search") == 401
    with pytest.raises((ConnectionError, urllib.error.URLError)):
        urllib.request.urlopen(f"http://127.0.0.1:{node.port}/", timeout=10)


def test_a_reader_searches_and_does_nothing_else(node: Node, secrets: Path, filled: Person) -> None:
    reader = Person(node, secrets, "reader")
    assert code(reader, "POST", "/tools-apis-made/_search", {}) == 200
    assert code(reader, "PUT", "/tools-apis-made/_doc/x", {"text": "x"}) == 403
    assert code(reader, "DELETE", "/tools-apis-made") == 403
    assert code(reader, "PUT", "/_search/pipeline/tools", {}) == 403
    assert code(reader, "GET", "/_plugins/_kitpick/stats") == 403


def test_an_operator_reads_statistics_and_no_document(node: Node, secrets: Path, filled: Person) -> None:
    operator = Person(node, secrets, "operator")
    assert code(operator, "GET", "/_plugins/_kitpick/stats") == 200
    assert code(operator, "POST", "/tools-apis-made/_search", {}) == 403


def test_a_writer_keeps_catalogs_of_this_name_and_no_other(node: Node, secrets: Path, filled: Person) -> None:
    assert code(filled, "PUT", "/others-apis-made", {}) == 403
    shards = {"persistent": {"cluster.max_shards_per_node": 900}}
    assert code(filled, "PUT", "/_cluster/settings", shards) == 403
    address = parse_address(
        f"opensearch+https://127.0.0.1:{node.port}/tools?ca={secrets / 'authority' / 'ca.pem'}"
    )
    lines = dict(line.split("=", 1) for line in (secrets / "writer.env").read_text("utf-8").splitlines())
    credentials = Credentials(lines["KITPICK_ENGINE_USER"], lines["KITPICK_ENGINE_PASSWORD"])
    address = msgspec.structs.replace(address, credentials=credentials)
    server = SearchServer(OpenSearchCarrier(address), address.url, 60.0, 60.0)
    with closing(RemoteEngine(address, server, PlainDialect("hnsw", "lucene"))) as engine:
        for model in ("first", "second"):  # the second index takes over, and the first is deleted
            index = engine.ensure(IndexSchema(model, 2, 1))
            with engine.writing(index) as writer:
                item = ApiDocument("s/t/a", "s", "c", "t", "a", "weather")
                writer.write([IndexedDocument(item, np.ones(2, np.float32))])
            engine.swap(index)
        live = engine.live()
        assert live is not None
        assert live[1].model == "second"
    reader = Person(node, secrets, "reader")
    assert reader.call("POST", "/tools/_search", {})["hits"]["total"]["value"] == 1
