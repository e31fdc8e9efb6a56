"""The examples of docs/nnn.md run as they stand."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[3] / "docs" / "nnn.md"


def test_every_example_runs(unit_rows: Callable[..., Any]) -> None:
    vectors = unit_rows(600, 24, cone=0.5)
    query = vectors[[1, 200, 300]].mean(0).astype(float)
    names: dict[str, Any] = {"vectors": vectors, "query": query}
    names["texts"] = ["weather forecast", "latest news"] * 300
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for example in examples:
        exec(example, names)
        assert names["solution"].certificate.exact
    assert len(examples) == 2
    assert set(names["hybrid"].words) == {"weather", "rome", "news"}


def test_every_picture_is_there() -> None:
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", PAGE.read_text(encoding="utf-8"))
    assert len(pictures) == 3
    for picture in pictures:
        assert (PAGE.parent / picture).read_text(encoding="utf-8").startswith("<svg")
