"""docker-compose.yml without Docker: every command in it runs as a process, in the order of `depends_on`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from building import build
from node_process import free_port
from opensearch_node import opensearch_node, version
from plugin_cli import opensearch_plugin
from searching import Client, report

pytestmark = [
    pytest.mark.needs("opensearch", "botocore", "serve", "onnxruntime", "weights", "curl"),
    pytest.mark.slow,
]

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docker-compose.yml").read_text("utf-8")
FILE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, Any] = FILE["services"]
GPU: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.gpu.yml").read_text("utf-8"))["services"]
SEARCH_IMAGE = (ROOT / "plugin" / "Dockerfile").read_text("utf-8")
IMAGE = (
    (ROOT / "rescorers" / "Dockerfile").read_text("utf-8").partition(" AS cpu\n")[2].partition("\nFROM ")[0]
)
PROGRAMS = {"kitpick": Path(sys.executable).parent / "kitpick", "python": sys.executable}
READY_SECONDS = 300


class Stack:
    """The containers as processes. What they call each other is replaced by where they are here."""

    def __init__(self, folder: Path, plugin: Path) -> None:
        self.folder = folder
        self.plugin = plugin
        self.rescorer, self.opensearch = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
        self.running: list[Any] = []

    def here(self, text: str) -> str:
        for name, address in {"opensearch": self.opensearch, "rescorer": self.rescorer}.items():
            port = {"opensearch": 9200, "rescorer": 8080}[name]
            text = re.sub(rf"\b({name}|127\.0\.0\.1|localhost):{port}\b", address, text)
        return re.sub(r"^/cache\b", str(self.folder), text)

    def run(self, command: Sequence[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Runs it to its end."""
        return subprocess.run(
            self.command(command),
            env=self.environment(environment),
            capture_output=True,
            text=True,
            check=False,
        )

    def command(self, command: Sequence[str]) -> list[str]:
        return [str(PROGRAMS.get(command[0], command[0])), *map(self.here, command[1:])]

    def environment(self, environment: dict[str, str]) -> dict[str, str]:
        return {**os.environ, **{name: self.here(str(value)) for name, value in environment.items()}}

    def start_rescorer(self) -> None:
        """The image's own command; its health check says when it is ready."""
        (entry,) = re.findall(r"^ENTRYPOINT (.+)$", IMAGE, re.MULTILINE)
        (command,) = re.findall(r"^CMD (.+)$", IMAGE, re.MULTILINE)
        (check,) = re.findall(r"^    CMD (\[.+\])$", IMAGE, re.MULTILINE)
        variables = dict(re.findall(r"(KITPICK_\w+)=(\S+)", IMAGE))
        assert variables == {"KITPICK_SERVE_HOST": "0.0.0.0"}
        host, port = self.rescorer.split(":")  # not to the whole network, from a test
        environment = {"KITPICK_SERVE_HOST": host, "KITPICK_SERVE_PORT": port}
        process = subprocess.Popen(
            self.command(json.loads(entry) + json.loads(command)), env=self.environment(environment)
        )
        self.running.append(process)
        self.wait(json.loads(check))

    def start_opensearch(self) -> None:
        """A node with the environment's settings, into which the image's command has installed the plugin."""
        service = SERVICES["opensearch"]
        settings = [
            f"{name}={self.here(value)}" for name, value in service["environment"].items() if "." in name
        ]
        (heap,) = re.findall(r"-Xmx(\S+)", service["environment"]["OPENSEARCH_JAVA_OPTS"])
        port = int(self.opensearch.split(":")[1])
        node = opensearch_node(self.folder, [], port, heap, settings)
        self.install()
        self.running.append(node.start())
        kind, *check = service["healthcheck"]["test"]
        assert kind == "CMD"
        self.wait(check)

    def install(self) -> None:
        """What the image is built by: COPY out of the stage that makes the zip, then RUN."""
        ((source, target),) = re.findall(r"^COPY --from=zip (\S+) (\S+)$", SEARCH_IMAGE, re.MULTILINE)
        assert source == f"/source/{self.plugin.relative_to(ROOT)}"
        (command,) = re.findall(r"^RUN \S+/bin/opensearch-plugin (.+)$", SEARCH_IMAGE, re.MULTILINE)
        arguments = command.replace(f"file://{target}", self.plugin.as_uri()).split()
        assert "-> Installed kitpick" in opensearch_plugin(self.folder, *arguments)

    def wait(self, check: Sequence[str]) -> None:
        """Until a health check succeeds."""
        limit = time.monotonic() + READY_SECONDS
        while (done := self.run(check, {})).returncode:
            assert time.monotonic() < limit, done.stderr
            time.sleep(0.2)

    def job(self, name: str, *arguments: str) -> str:
        """`docker compose run NAME ARGUMENTS`; returns what it printed."""
        service = SERVICES[name]
        command = [*service["entrypoint"], *(arguments or service.get("command", []))]
        done = self.run(command, service["environment"])
        assert done.returncode == 0, done.stderr
        return done.stdout

    def stop(self) -> None:
        for each in reversed(self.running):
            if isinstance(each, subprocess.Popen):
                each.terminate()
                each.wait(60)
            else:
                each.stop()


@pytest.fixture(scope="module")
def stack(plugin_zip: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    running = Stack(tmp_path_factory.mktemp("compose"), plugin_zip)
    try:
        running.start_rescorer()
        running.start_opensearch()
        running.job("setup")
        yield running
    finally:
        running.stop()


def test_the_order_here_is_that_of_the_file() -> None:
    assert set(SERVICES["opensearch"]["depends_on"]) == {"rescorer"}
    assert set(SERVICES["setup"]["depends_on"]) == {"opensearch"}
    assert set(SERVICES["ingest"]["depends_on"]) == {"opensearch"}


def test_the_image_is_of_the_version_that_the_plugin_is_built_for() -> None:
    assert f"\nARG OPENSEARCH=opensearchproject/opensearch:{version()}\n" in SEARCH_IMAGE
    pom = (ROOT / "plugin" / "pom.xml").read_text("utf-8")
    assert f"<opensearch.version>{version()}</opensearch.version>" in pom


def test_what_the_image_copies_is_all_that_the_zip_is_built_from(tmp_path: Path) -> None:
    stage = SEARCH_IMAGE.partition(" AS zip\n")[2].partition("\nFROM ")[0]
    (place,) = re.findall(r"^WORKDIR (\S+)$", stage, re.MULTILINE)
    for line in re.findall(r"^COPY (.+)$", stage, re.MULTILINE):
        *sources, target = line.split()
        for source in sources:
            into = tmp_path / str(Path("/", place, target)).lstrip("/")
            copy(ROOT / source, into / Path(source).name if target.endswith("/") else into)
    (command,) = re.findall(r"^RUN mvn (.+)$", stage, re.MULTILINE)
    built = build(*command.split(), plugin=tmp_path / place.lstrip("/"))
    assert zipfile.is_zipfile(built)


def copy(source: Path, into: Path) -> None:
    """As COPY does: a folder's contents, or a file into a folder or under a name."""
    if source.is_dir():
        shutil.copytree(source, into)
    else:
        into.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, into)


def test_a_catalog_taken_in_is_searched_in_the_rescorers_order(stack: Stack) -> None:
    stack.job("ingest")
    body = {
        "size": 5,
        "query": {"match": {"description": "delete a message from a queue"}},
        "_source": ["id"],
        "ext": {"kitpick": {"window": 10}},
    }
    address = re.search(r"http://localhost:9200(/\S+)", TEXT)
    assert address is not None
    client = Client(f"http://{stack.opensearch}")
    limit = time.monotonic() + READY_SECONDS
    answer = client.call("POST", address[1].rstrip("."), body)
    while report(answer)["status"] != "rescored":  # a busy machine may need longer than the deadline
        assert time.monotonic() < limit, report(answer)
        time.sleep(0.5)
        answer = client.call("POST", address[1].rstrip("."), body)
    assert {hit["_source"]["id"].split("/")[1] for hit in answer["hits"]["hits"]} <= {"s3", "sqs", "sns"}
    assert "botocore/sqs/DeleteMessage" in str(answer)


def test_the_comment_shows_how_to_take_in_another(stack: Stack) -> None:
    shown = re.findall(r"^#   docker compose run --rm (\w+) (\S+)$", TEXT, re.MULTILINE)
    assert shown == [("ingest", "botocore:s3,sqs")]
    assert stack.job(*shown[0])
