"""The list ranker learns on some catalogs, is judged on others, and answers as it was trained."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

pytest.importorskip("lightgbm")

from kitpick_models.errors import CorruptModel
from kitpick_models.manifest import HEAD, digest, read_manifest, write_manifest
from kitpick_models.runtime import load_list_ranker
from kitpick_models.verify import verify
from kitpick_rescorers.features import FEATURES, RISING
from kitpick_training.errors import EmptyTrainingSet, InvalidFeatures
from kitpick_training.list_ranker import (
    ListRows,
    RankerRecipe,
    publish_list_ranker,
    read_rows,
    train_list_ranker,
)
from kitpick_training.tree_ensemble import float32_below

pytestmark = pytest.mark.needs("onnxruntime")
RECIPE = RankerRecipe("tiny", trees=20, leaves=4, least_rows=5)
COLUMN = {name: place for place, name in enumerate(FEATURES)}
CANDIDATES = 8
MODELS = ("vectors@1", "pairs@1")


def lists(catalogs: tuple[str, ...] = ("a", "b", "c"), each: int = 40) -> ListRows:
    """The first by cosine is right in most lists; in every fourth nothing is, and all are far."""
    rng = np.random.default_rng(7)
    count = len(catalogs) * each
    features = rng.normal(0.0, 0.1, (count, CANDIDATES, len(FEATURES))).astype(np.float32)
    features[:, :, COLUMN["scored"]] = 1.0
    labels = np.zeros((count, CANDIDATES), bool)
    answerable = np.arange(count) % 4 != 0
    for number in range(count):
        cosines = rng.uniform(0.0, 0.4, CANDIDATES)
        right = int(rng.integers(CANDIDATES))
        if answerable[number]:
            labels[number, right] = True
            cosines[right] += 0.5 if rng.random() < 2 / 3 else 0.4
        features[number, :, COLUMN["cosine"]] = cosines
        features[number, :, COLUMN["best_cosine"]] = cosines.max()
    return ListRows(
        features.reshape(-1, len(FEATURES)),
        labels.reshape(-1),
        np.repeat(np.arange(count), CANDIDATES),
        np.repeat(np.array(catalogs), each),
        answerable.astype(np.int64),
        np.repeat(np.array(catalogs), each),
        MODELS,
    )


@pytest.fixture(scope="module")
def rows() -> ListRows:
    return lists()


@pytest.fixture(scope="module")
def trained(rows: ListRows):
    return train_list_ranker(rows, RECIPE)


@pytest.fixture
def model(trained, rows: ListRows, tmp_path: Path) -> Path:
    publish_list_ranker(trained, rows, RECIPE, tmp_path / "tiny", ("2026-01-01", "a test"))
    return tmp_path / "tiny"


def test_every_catalog_is_judged_by_trees_that_have_not_seen_it(trained, rows: ListRows):
    assert set(trained.figures) == {"a", "b", "c"}
    for figures in trained.figures.values():
        assert figures.requests == 30
        assert figures.learned > figures.words + 20
        assert figures.learned > 50
        assert figures.caught > figures.false_alarms


def test_a_margin_over_cohorts_comes_from_catalogs_that_have_one(rows: ListRows, tmp_path: Path):
    assert train_list_ranker(rows, RECIPE).margin is None
    unanswerable = msgspec.structs.replace(
        rows.of_lists(rows.wanted == 0), catalogs=rows.catalogs, documents=rows.documents
    )
    trained = train_list_ranker(rows, RECIPE, unanswerable)
    assert trained.margin is not None
    assert trained.margin > 0, "what can be answered looks better than what cannot"
    for figures in trained.figures.values():
        assert figures.false_alarms_adapted is not None
        assert figures.caught_adapted is not None
        assert figures.caught_adapted > 0.5 > figures.false_alarms_adapted
    publish_list_ranker(trained, rows, RECIPE, tmp_path, ("2026-01-01", "a test"))
    assert load_list_ranker(tmp_path).cohort_margin == trained.margin


def test_it_answers_behind_onnxruntime_as_it_was_trained(trained, rows: ListRows, model: Path):
    found = load_list_ranker(model).score(rows.features)
    np.testing.assert_allclose(found, trained.booster.predict(rows.features, raw_score=True), atol=1e-5)
    verification = verify(model)
    assert verification.sound
    assert verification.figures["most_difference"] < 1e-5


def test_its_manifest_names_the_data_and_its_licence(trained, rows: ListRows, tmp_path: Path):
    renamed = {"bfcl": "a", "written": "b", "written-mcp": "c"}
    figures = {name: trained.figures[old] for name, old in renamed.items()}
    publish_list_ranker(
        msgspec.structs.replace(trained, figures=figures), rows, RECIPE, tmp_path, ("2026-01-01", "a test")
    )
    bfcl, written = read_manifest(tmp_path).training
    assert (bfcl.licence, bfcl.examples) == ("Apache-2.0", 30)
    assert written.licence.startswith("Apache-2.0 (requests)")
    assert written.examples == 60


def test_it_fits_the_models_that_it_learned_with_and_no_others(model: Path):
    ranker = load_list_ranker(model)
    assert not ranker.misfit(*MODELS)
    assert not ranker.misfit("vectors@1", ""), "of a profile that reads no pairs"
    assert ranker.misfit("vectors@2", "pairs@1")
    assert ranker.misfit("vectors@1", "pairs@2")


def test_features_that_may_only_help_never_lower_a_score(model: Path, rows: ListRows):
    ranker = load_list_ranker(model)
    for name in RISING:
        more = rows.features.copy()
        more[:, COLUMN[name]] += 0.3
        assert (ranker.score(more) >= ranker.score(rows.features) - 1e-6).all(), name


def test_probabilities_rise_with_the_logit_and_are_calibrated(trained, model: Path, rows: ListRows):
    ranker = load_list_ranker(model)
    logits = np.linspace(-5, 5, 11, dtype=np.float32)
    assert (np.diff(ranker.probability(logits)) > 0).all()
    assert abs(ranker.probability(ranker.score(rows.features)).mean() - rows.labels.mean()) < 0.05


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda arrays: arrays.pop("bias"), "not a logistic regression"),
        (lambda arrays: arrays.update(scale=np.zeros(len(arrays["scale"]))), "scale a positive one"),
        (lambda arrays: arrays.update(weight=np.zeros(1)), "one value a name"),
    ],
)
def test_a_head_that_is_none_is_refused(model: Path, damage, reason):
    with np.load(model / HEAD) as file:
        arrays = {name: file[name] for name in file.files}
    damage(arrays)
    np.savez(model / HEAD, **arrays)
    manifest = read_manifest(model)
    files = manifest.files | {HEAD: digest((model / HEAD).read_bytes())}
    write_manifest(model, msgspec.structs.replace(manifest, files=files))
    with pytest.raises(CorruptModel, match=reason):
        load_list_ranker(model)


def test_a_changed_head_is_another_model(model: Path):
    manifest = read_manifest(model)
    other = msgspec.structs.replace(manifest, files=manifest.files | {HEAD: "0" * 64})
    assert other.identity != manifest.identity


@pytest.mark.parametrize("threshold", [0.1, 1 / 3, 1e-40, -0.7, 16_777_217.0])
def test_a_threshold_in_float32_decides_as_the_one_in_float64(threshold: float):
    rounded = float32_below(threshold)
    around = np.nextafter(
        np.float32(rounded), np.array([-np.inf, rounded, np.inf], np.float32), dtype=np.float32
    )
    assert ((around <= rounded) == (around.astype(np.float64) <= threshold)).all()


def test_feature_files_are_joined_and_what_is_neither_right_nor_wrong_is_left_out(tmp_path: Path):
    write(tmp_path / "a.npz", label=[1, -1, 0], set_="a")
    write(tmp_path / "b.npz", label=[0, 1, 0], set_="b")
    rows = read_rows([tmp_path / "a.npz", tmp_path / "b.npz"])
    assert rows.labels.tolist() == [True, False, False, True, False]
    assert rows.lists.tolist() == [0, 0, 1, 1, 1]
    assert rows.catalogs.tolist() == ["a", "b"]


def test_cohorts_are_read_apart(tmp_path: Path):
    write(tmp_path / "a.npz", label=[1, 0], set_="a")
    write(tmp_path / "b.npz", label=[0, 0, 0], set_="b", style="cohort")
    files = [tmp_path / "a.npz", tmp_path / "b.npz"]
    assert read_rows(files).catalogs[read_rows(files).lists].tolist() == ["a", "a"]
    cohorts = read_rows(files, cohorts=True)
    assert cohorts.catalogs[cohorts.lists].tolist() == ["b", "b", "b"]


def test_a_set_that_only_measures_is_refused(tmp_path: Path):
    write(tmp_path / "a.npz", label=[1, 0], set_="a", split="none")
    with pytest.raises(EmptyTrainingSet, match="only measures"):
        read_rows([tmp_path / "a.npz"])


def test_a_file_of_other_features_is_refused(tmp_path: Path):
    write(tmp_path / "a.npz", label=[1, 0], set_="a", names=["luck"])
    with pytest.raises(InvalidFeatures, match="other features"):
        read_rows([tmp_path / "a.npz"])
    with pytest.raises(InvalidFeatures, match="no file of features"):
        read_rows([tmp_path / "absent.npz"])


def test_files_of_different_models_are_not_mixed(tmp_path: Path):
    write(tmp_path / "a.npz", label=[1, 0], set_="a")
    write(tmp_path / "b.npz", label=[1, 0], set_="b", models=("vectors@2", "pairs@1"))
    with pytest.raises(InvalidFeatures, match="other models"):
        read_rows([tmp_path / "a.npz", tmp_path / "b.npz"])


def test_one_catalog_alone_is_refused():
    with pytest.raises(EmptyTrainingSet, match="second catalog"):
        train_list_ranker(lists(("a",)), RECIPE)


def write(
    path: Path,
    *,
    label: list[int],
    set_: str,
    documents: str | None = None,
    split: str = "validation",
    names: list[str] | None = None,
    models: tuple[str, str] = MODELS,
    style: str = "",
):
    np.savez(
        path,
        features=np.zeros((len(label), len(FEATURES)), np.float32),
        label=np.array(label, np.int8),
        request=np.zeros(len(label), np.int32),
        names=np.array(names or list(FEATURES)),
        models=np.array(models),
        set=np.array([set_]),
        documents=np.array([documents or set_]),
        split=np.array([split]),
        wanted=np.array([1]),
        style=np.array([style]),
    )
