"""`kitpick adapt`: what it writes is searched with, and can be adapted again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kitpick.errors import ExitCode
from kitpick.evaluation import Judged
from kitpick_rescorers.profiles import load_profile

from .conftest import Ran

pytestmark = pytest.mark.needs("weights", "onnxruntime", "eval")
NEW = "a pigeon for the whole team"


def test_a_profile_and_its_matrix_are_written_and_searched_with(
    slang: Judged, tmp_path: Path, kitpick: Callable[..., Ran]
) -> None:
    file = tmp_path / "mine.toml"
    ran = kitpick("adapt", "--queries", str(tmp_path / "slang.jsonl"), "-o", str(file))
    assert ran.code == 0, ran.err
    assert "NDCG@5 of requests left out" in ran.out
    assert "Vectors of requests are turned" in ran.out
    (matrix,) = tmp_path.glob("mine-*.npz")
    assert load_profile(file).first_stage.request_matrix == str(matrix)
    found = {
        profile: json.loads(kitpick("search", NEW, "-k", "1", "-p", profile, "--json").out)
        for profile in ("kitpick", str(file))
    }
    assert not found["kitpick"]["hits"][0]["id"].endswith("send_email")
    assert found[str(file)]["hits"][0]["id"].endswith("send_email")
    assert found[str(file)]["degraded"] == []


def test_an_adapted_profile_is_judged_without_its_matrix_when_it_is_adapted_again(
    slang: Judged, tmp_path: Path, kitpick: Callable[..., Ran]
) -> None:
    """It may have been fitted to the same requests: it would look better than it is."""
    given = ["--queries", str(tmp_path / "slang.jsonl"), "-o", str(tmp_path / "mine.toml"), "--json"]
    first = json.loads(kitpick("adapt", "-p", "hybrid", *given).out)
    again = json.loads(kitpick("adapt", "-p", str(tmp_path / "mine.toml"), *given).out)
    assert again | {"profile": "hybrid"} == first
    assert load_profile(tmp_path / "mine.toml").name == "hybrid-adapted"


def test_a_result_that_cannot_be_written_is_refused_before_anything_is_asked(
    slang: Judged, tmp_path: Path, kitpick: Callable[..., Ran]
) -> None:
    (tmp_path / "file").write_text("no folder")
    for output in (tmp_path / "file" / "mine.toml", tmp_path):
        ran = kitpick("adapt", "--queries", str(tmp_path / "slang.jsonl"), "-o", str(output))
        assert ran.code == ExitCode.INPUT
        assert f"{output}: cannot be written" in ran.err
