"""Photographs the explain page for docs/page.md: python docs/figures/page.py (extras aws, browser; Pillow).

The catalog is that of `scripts/quickstart`: botocore's models of twelve AWS services (Apache-2.0).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from kitpick.catalog import Catalog
from kitpick.quickstart import SERVICES

HERE = Path(__file__).resolve().parent
REQUEST = "translate a document and send the result as a message to a queue"
SIZE = {"width": 1280, "height": 860}


def main() -> None:
    """Writes three PNG files beside this one."""
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        url = f"sqlite:{folder}/aws.db"
        with Catalog.open(url) as catalog:
            catalog.ingest(f"botocore:{','.join(SERVICES)}")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with serving(url, Path(folder) / "marks.jsonl") as page:
            photograph(browser, page, {}, "light", name="start")
            light = {"request": REQUEST, "profile": "kitpick", "budget": "2000"}
            photograph(browser, page, light, "light")
            dark = {"request": REQUEST, "profile": "nnn", "budget": "2000"}
            photograph(browser, page, dark, "dark", "Way through the stages")
        browser.close()


@contextmanager
def serving(catalog: str, marks: Path) -> Iterator[str]:
    """The page's address while its server runs."""
    options = ["--ui", "--port", "0", "--catalog", catalog, "--marks", str(marks)]
    command = [str(Path(sys.executable).parent / "kitpick"), "serve", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 - its own command
        assert process.stderr is not None
        yield next(found[1] for line in process.stderr if (found := re.search(r"page is at (\S+)", line)))
        process.terminate()


def photograph(
    browser: Browser, page: str, asked: dict[str, str], scheme: str, heading: str = "", name: str = ""
) -> None:
    """The first screen or an answer, light or dark: its beginning, or what surrounds a heading."""
    tab = browser.new_page(viewport=SIZE, color_scheme=scheme)  # type: ignore[arg-type, unused-ignore]
    for _ in range(2):  # what a first request loads is no part of the picture
        tab.goto(f"{page}?#{urlencode(asked)}")
        tab.reload()
        tab.locator("#status", has_text="Answered").wait_for() if asked else tab.locator(
            "#catalog"
        ).wait_for()
    if heading:
        tab.get_by_text("How it was found").click()
        tab.get_by_role("heading", name=heading, exact=True).evaluate(
            "it => it.scrollIntoView({block: 'center'})"
        )
    seen = Image.open(BytesIO(tab.screenshot()))
    # A palette is enough for text and lines, and a quarter of the size.
    seen.convert("RGB").quantize(250).save(HERE / f"page-{name or scheme}.png", optimize=True)
    tab.close()


if __name__ == "__main__":
    main()
