"""What docs/llm.md shows is read as it says."""

from __future__ import annotations

import re
from pathlib import Path

from kitpick_training.own.demorank import read_pool

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "llm.md").read_text("utf-8")


def test_the_demonstrations_are_a_pool(tmp_path: Path) -> None:
    example = re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert example
    (tmp_path / "pool.jsonl").write_text(example[1])
    assert [item.useful for item in read_pool(tmp_path / "pool.jsonl")] == [True, False]
