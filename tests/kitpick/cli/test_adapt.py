"""`kitpick adapt`: what it writes is searched with, and can be adapted again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Ran
from msgspec.structs import replace

from kitpick.errors import ExitCode
from kitpick.evaluation.measuring import Judged
from kitpick_rescorers.profiles import load_profile, profile_toml

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
    told = kitpick("eval", "--queries", str(tmp_path / "slang.jsonl"), "-p", str(file), "-p", "bm25").err
    count = len((tmp_path / "slang.jsonl").read_text().splitlines())
    assert f"{file} was fitted to {count} of these {count} requests, so its figures here are too high" in told
    assert "of requests left out of the fit it was NDCG@5 " in told
    few = given_few(tmp_path)
    some = kitpick("eval", "--queries", few, "-p", str(file)).err
    assert "was fitted to 19 of these 19 requests" in some
    kept = json.loads(kitpick("adapt", "-p", str(file), "--no-vectors", "--queries", few, "--json").out)
    assert "vectors are turned as before" in kept["left"]
    assert kept["threshold"] is not None


def given_few(folder: Path) -> str:
    """Nineteen of the requests: as many as a threshold takes, and one less than vectors do."""
    few = folder / "few.jsonl"
    few.write_text("\n".join((folder / "slang.jsonl").read_text().splitlines()[:19]))
    return str(few)


def test_an_adapted_profile_is_judged_without_its_matrix_when_it_is_adapted_again(
    slang: Judged, tmp_path: Path, kitpick: Callable[..., Ran]
) -> None:
    """It may have been fitted to the same requests: it would look better than it is."""
    given = ["--queries", str(tmp_path / "slang.jsonl"), "-o", str(tmp_path / "mine.toml"), "--json"]
    first = json.loads(kitpick("adapt", "-p", "hybrid", *given).out)
    again = json.loads(kitpick("adapt", "-p", str(tmp_path / "mine.toml"), *given).out)
    assert again | {"profile": "hybrid"} == first
    assert load_profile(tmp_path / "mine.toml").name == "hybrid-adapted"


def test_a_fit_is_not_thrown_away_for_too_few_requests(
    slang: Judged, tmp_path: Path, kitpick: Callable[..., Ran]
) -> None:
    profile = load_profile("kitpick")
    last = replace(profile.stages[-1], cosine=5.0)
    fitted = tmp_path / "fitted.toml"
    fitted.write_text(profile_toml(replace(profile, stages=(*profile.stages[:-1], last))))
    ran = kitpick("adapt", "-p", str(fitted), "--queries", given_few(tmp_path))
    assert ran.code == ExitCode.INPUT
    assert "19 requests are too few to fit the vectors to: it takes 20" in ran.err


@pytest.mark.usefixtures("slang")
def test_requests_that_nothing_serves_are_said_to_take_no_part(
    tmp_path: Path, kitpick: Callable[..., Ran]
) -> None:
    few = Path(given_few(tmp_path))
    few.write_text(few.read_text() + '\n{"query": "sing me a song", "relevant": []}\n')
    ran = kitpick("adapt", "--no-vectors", "--queries", str(few))
    assert ran.code == ExitCode.OK, ran.err
    assert "1 requests without a right API take no part" in ran.err


def test_a_result_that_cannot_be_written_is_refused_before_anything_is_asked(
    tmp_path: Path, kitpick: Callable[..., Ran]
) -> None:
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "folder.toml").mkdir()
    for output in (tmp_path / "file" / "mine.toml", tmp_path / "folder.toml"):
        ran = kitpick("adapt", "--queries", str(tmp_path / "not-there.jsonl"), "-o", str(output))
        assert ran.code == ExitCode.INPUT
        assert f"{output}: cannot be written" in ran.err
    ran = kitpick("adapt", "--queries", str(tmp_path / "not-there.jsonl"), "-o", str(tmp_path / "mine"))
    assert ran.code == ExitCode.USAGE
    assert "ends in .toml" in ran.err


def test_whoever_may_see_no_right_api_is_told_so(
    slang: Judged, functions_file: Path, tmp_path: Path, kitpick: Callable[..., Ran]
) -> None:
    assert kitpick("ingest", str(functions_file), "--tenant", "acme").code == 0
    ran = kitpick("adapt", "--queries", str(tmp_path / "slang.jsonl"))
    assert ran.code == ExitCode.INPUT
    assert "may see no right API of any request" in ran.err
    assert "--tenant" in ran.err
