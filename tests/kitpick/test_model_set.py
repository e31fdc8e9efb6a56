"""Models are chosen as a set. One in place of another is never used in silence."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from kitpick.catalog import Catalog
from kitpick.errors import ExitCode, exit_code
from kitpick.model_set import ModelSet
from kitpick.settings import Settings
from kitpick_models.errors import CorruptModel, UnknownModel, UnknownModelSet
from kitpick_models.locate import VARIABLE, choose, find_model, find_set, list_sets
from kitpick_models.runtime import load_query_kind
from kitpick_models.verify import verify_set

pytestmark = pytest.mark.needs("weights", "onnxruntime")
NEEDS = frozenset({"vector", "scorer", "ranker"})
OWN = """
name = "own"
encoder = "mine"
cross_encoder = "reranker-l6"
"""


def own_set(place: Path, text: str = OWN) -> Path:
    """A folder with a set of its own, whose encoder is a copy of the smaller one."""
    place.mkdir()
    (place / "set.toml").write_text(text)
    shutil.copytree(find_model("minilm-l6"), place / "mine")
    return place


@pytest.mark.parametrize("name", ["default", "small"])
def test_the_models_of_a_set_are_used_together(name: str) -> None:
    models, missing = ModelSet(Settings(models=name)).for_needs(NEEDS)
    assert models.ranker is not None
    assert not missing


@pytest.mark.parametrize("name", ["default", "small"])
def test_the_models_of_a_shipped_set_belong_together(name: str) -> None:
    found = verify_set(find_set(name)[0])
    assert found.sound, found.faults


def test_every_set_is_listed_the_default_one_first() -> None:
    assert [each.name for each in list_sets()] == ["default", "small"]


def test_a_folder_is_a_set_with_models_of_its_own_and_shipped_ones(tmp_path: Path) -> None:
    chosen = choose(str(own_set(tmp_path / "own")))
    assert chosen.names() == {"encoder": str(tmp_path / "own" / "mine"), "cross_encoder": "reranker-l6"}
    assert (chosen.set_name, chosen.list_ranker, chosen.replaced) == ("own", None, ())


def test_a_folder_without_a_set_replaces_models_of_the_default_set_by_name(tmp_path: Path) -> None:
    shutil.copytree(find_model("minilm-l6"), tmp_path / "encoder-pair")
    chosen = choose(str(tmp_path))
    assert (chosen.set_name, chosen.encoder) == ("default", str(tmp_path / "encoder-pair"))


@pytest.mark.parametrize("name", ["smal", "no/such/folder", "..", "large"])
def test_an_unknown_set_is_an_error_that_names_the_known_ones(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if name == "..":
        name = str(tmp_path / name / "none")
    with pytest.raises(UnknownModelSet, match="default, small") as caught:
        ModelSet(Settings(models=name))
    assert exit_code(caught.value) == ExitCode.UNAVAILABLE


@pytest.mark.parametrize("role", ["encoder", "cross_encoder", "query_kind", "list_ranker"])
@pytest.mark.parametrize("name", ["foo", "Encoder-L12", "no/such"])
def test_an_unknown_model_is_an_error_in_every_role(
    role: str, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(f"KITPICK_{role.upper()}", name)
    with pytest.raises(UnknownModel) as caught:
        Catalog.open(str(tmp_path / "c.db"))
    assert exit_code(caught.value) == ExitCode.UNAVAILABLE


def test_an_empty_name_means_the_sets_model_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for role in ("MODELS", "ENCODER", "CROSS_ENCODER", "QUERY_KIND", "LIST_RANKER"):
        monkeypatch.setenv(f"KITPICK_{role}", "")
    usual = choose("default")
    assert Settings().chosen_models() == usual
    assert Settings(list_ranker="", query_kind="", encoder="").chosen_models() == usual
    assert load_query_kind("").manifest.name == usual.query_kind


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            Settings(encoder="minilm-l6"),
            "learned beside encoder-pair@.* and reranker-l6@.*in use are minilm-l6@",
        ),
        (Settings(models="small", encoder="encoder-pair"), "list-ranker@.* learned beside minilm-l6@"),
        (Settings(list_ranker="none"), "left out by the settings"),
    ],
)
def test_a_combination_without_a_list_ranker_is_degraded_by_name(settings: Settings, says: str) -> None:
    models, missing = ModelSet(settings).for_needs(NEEDS)
    assert models.scorer is not None
    assert models.ranker is None
    (found,) = missing
    assert found.stage == "list_ranker"
    assert re.search(says, found.reason)


def test_a_model_that_cannot_be_loaded_is_named_alone(broken_model: str) -> None:
    models, missing = ModelSet(Settings(encoder=broken_model)).for_needs(NEEDS)
    assert models.ranker is None
    assert not missing, "the encoder is reported where its vectors are asked for"


@pytest.mark.parametrize(
    "text", ["", "name = 1", "name = [", OWN + "reranker = 'x'\n", OWN + "[thresholds.judge]\na = 1.0\n"]
)
def test_a_set_that_cannot_be_read_is_an_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "set.toml").write_text(text)
    with pytest.raises(CorruptModel, match="not a model set"):
        choose(str(tmp_path))


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("template = 2\n", "template is 1, the set has 2"),
        ("[thresholds.encoder]\nunmatched = 0.5\n", "thresholds is"),
        ("tokenizer = 'another'\n", "tokenizer is"),
        ("list_ranker = 'list-ranker-pair'\n", "encoder it learned beside is encoder-pair@"),
        ("query_kind = 'minilm-l6'\n", "kind is encoder"),
        ("query_kind = 'absent'\n", "no model 'absent'"),
    ],
)
def test_a_set_whose_models_do_not_belong_together_is_not_sound(
    line: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = own_set(tmp_path / "own", OWN + line)
    monkeypatch.setenv(VARIABLE, str(folder))
    assert any(fault in each for each in verify_set(find_set()[0]).faults)


def test_an_index_says_which_set_it_was_built_with_and_the_cure(
    settings: Settings, functions_file: Path
) -> None:
    with Catalog.open(settings=settings) as opened:
        opened.ingest(f"functions:{functions_file}")
        stats = opened.stats()
        assert stats is not None
        assert stats.schema.models == "default"
    with Catalog.open(settings=Settings(models="small")) as opened:
        result = opened.search("weather in Rome")
    reasons = [each.reason for each in result.degraded if each.stage == "embed"]
    assert len(reasons) == 1
    assert "of the model set 'default'" in reasons[0]
    assert "KITPICK_MODELS=default" in reasons[0]
    assert "ingest" in reasons[0]


def test_an_index_of_an_encoder_alone_names_no_set(settings: Settings, functions_file: Path) -> None:
    alone = Settings(encoder="minilm-l6")
    with Catalog.open(settings=alone) as opened:
        opened.ingest(f"functions:{functions_file}")
        stats = opened.stats()
        assert stats is not None
        assert stats.schema.models == ""


def test_the_wheel_carries_both_sets_and_no_other_model() -> None:
    root = Path(__file__).resolve().parents[2]
    project = (root / "pyproject.toml").read_text("utf-8")
    lines = project.partition("targets.wheel.force-include]")[2].splitlines()
    places = {line.split('"')[1] for line in lines if line.startswith('"onnx_models/weights/')}
    names = {name for each in list_sets() for name in (each.name, *each.names().values())}
    assert {Path(place).name for place in places} == names | {"tokenizer.json"}
    assert all((root / place).exists() for place in places)


def test_what_builds_the_wheel_carries_both_sets_too() -> None:
    project = (Path(__file__).resolve().parents[2] / "pyproject.toml").read_text("utf-8")
    left_out = project.partition("targets.sdist]")[2].partition("]")[0]
    assert "/benchmarks" in left_out
    assert "weights" not in left_out
