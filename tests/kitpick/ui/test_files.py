"""The page's own files: nothing from elsewhere, nothing inline, no text that becomes markup."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

import kitpick.ui
from kitpick.errors import ExitCode

FILES = sorted((Path(kitpick.ui.__file__).parent / "page").iterdir())
SINKS = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc")
COMMAND = [sys.executable, "-W", "error", "-c", "from kitpick.cli import main; main()", "serve", "--ui"]
COMMAND += ["--set", "warm_up_seconds=0"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_file_names_another_site_or_makes_markup_of_text(file: Path) -> None:
    text = file.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
    assert "http:" not in text
    assert "https:" not in text
    assert "//cdn" not in text
    assert not [sink for sink in SINKS if sink in text]
    if file.suffix == ".html":
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=", text)


@pytest.mark.needs("weights", "onnxruntime", "serve")
def test_every_file_is_served_under_a_strict_policy(shown: Any) -> None:
    for file in FILES:
        answer = httpx2.get(shown.page + ("" if file.name == "index.html" else file.name), timeout=60)
        assert answer.content == file.read_bytes()
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert httpx2.get(f"{shown.url}/ui", timeout=60).headers["location"] == "ui/"
    root = httpx2.get(f"{shown.url}/", timeout=60)
    assert (root.status_code, root.headers["location"]) == (307, "ui/")
    assert httpx2.get(f"{shown.url}/", follow_redirects=True, timeout=60).url == shown.page
    assert not httpx2.post(f"{shown.url}/", timeout=60).is_redirect, "the service answers clients there"
    assert httpx2.get(f"{shown.page}../../etc/passwd", timeout=60).status_code == 404
    assert httpx2.post(shown.page, timeout=60).status_code == 405


@pytest.mark.needs("weights", "onnxruntime", "serve")
def test_the_page_is_off_by_default_and_the_service_stays_what_it_is(shown: Any) -> None:
    from kitpick_service.app import application
    from kitpick_service.core import Service
    from kitpick_service.settings import ServiceSettings

    service = Service(ServiceSettings(warm_up_seconds=0))
    paths = [route.path for route in application(service).routes]
    service.close()
    assert not [path for path in paths if path.startswith("/ui")]
    assert [
        path for path in httpx2.get(f"{shown.url}/openapi.json", timeout=60).json()["paths"] if "/ui" in path
    ] == []


@pytest.mark.needs("weights", "onnxruntime", "serve")
def test_the_command_says_where_the_page_is(shop: str) -> None:
    command = [*COMMAND, "--port", "0", "--catalog", shop]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = next(line for line in process.stderr if "explain page" in line)
        assert httpx2.get(said.split()[-1], timeout=60).status_code == 200
        process.terminate()
        assert process.wait(300) in {0, -15}


@pytest.mark.needs("weights", "onnxruntime", "serve")
@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--host", "0.0.0.0"], "others could reach the catalog: name --keys, or stay on 127.0.0.1"),
        (["--marks", "/nowhere/marks.jsonl"], "there is no folder /nowhere"),
        (["--adapted", "/nowhere/mine.toml"], "there is no folder /nowhere"),
        (["--adapted", "mine.json"], "a profile's file ends in .toml"),
    ],
)
def test_what_would_be_careless_is_refused_at_the_start(shop: str, flags: list[str], said: str) -> None:
    command = [*COMMAND, "--port", "0", "--catalog", shop, *flags]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert refused.returncode == ExitCode.USAGE
    assert said in refused.stderr
