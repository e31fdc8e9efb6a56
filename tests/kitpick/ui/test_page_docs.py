"""docs/page.md says what there is."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from kitpick_evaluation.datasets.queries_file import queries_file
from kitpick_service.keys import parse_keys

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = (DOCS / "page.md").read_text("utf-8")
COMMANDS = (DOCS / "commands.md").read_text("utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found[1]


def test_every_option_exists() -> None:
    lines = [line for text in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in text.splitlines()]
    for line in (line for line in lines if line.startswith("kitpick")):
        _, command, *words = shlex.split(line)
        section = COMMANDS.partition(f"## `kitpick {command}`")[2].partition("\n## ")[0]
        for option in (word for word in words if word.startswith("-")):
            assert f"{option}" in re.findall(r"(?<![\w-])--?[\w-]+", section), f"{command}: {option}"


def test_the_line_of_marks_is_one_that_an_evaluation_reads(tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_text(block("json"))
    (query,) = queries_file(file)
    assert query.relevant == {"crm/mail/send_email"}


@pytest.mark.needs("serve")
def test_the_entry_of_a_key_is_one() -> None:
    (key,) = parse_keys(block("toml"), "docs/page.md").values()
    assert (key.tenant, key.principals) == ("acme", ("support", "billing"))


def test_the_pictures_are_there_and_small() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", PAGE)
    assert len(pictures) == 3
    for picture in pictures:
        content = (DOCS / picture).read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) <= 150_000
