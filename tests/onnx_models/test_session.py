"""A model runs on the device that was asked for, or not at all."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from kitpick_models import session
from kitpick_models.errors import CorruptModel, ProviderRefused, RuntimeClash
from kitpick_models.graph_file import number, part, text
from kitpick_models.manifest import digest, read_manifest, write_manifest
from kitpick_models.runtime import load_encoder
from kitpick_models.session import CPU as CPU_PROVIDER
from kitpick_models.session import (
    CUDA,
    SILENT,
    provider_list,
    require_one_runtime,
    require_provider,
)
from kitpick_models.settings import RuntimeSettings

CPU = ["CPUExecutionProvider"]


def test_a_granted_provider_is_accepted():
    granted = ["CUDAExecutionProvider", *CPU]
    for asked in ("cuda", "cpu"):
        require_provider(asked, granted)
        del granted[0]
        with pytest.raises(ProviderRefused):
            require_provider(asked, granted)


def test_a_silent_fall_back_to_the_processor_is_refused():
    with pytest.raises(ProviderRefused, match="kitpick\\[gpu\\]"):
        require_provider("cuda", CPU)


def test_both_runtime_packages_together_are_refused():
    require_one_runtime(["onnxruntime"])
    require_one_runtime(["onnxruntime-gpu", "numpy"])
    with pytest.raises(RuntimeClash, match="uninstall both"):
        require_one_runtime(["onnxruntime", "onnxruntime-gpu"])


@pytest.mark.needs("onnxruntime")
def test_the_runtime_is_told_to_send_no_usage_data_before_it_is_loaded():
    """Even where the environment says otherwise: the operator configured no collector."""
    script = (
        "import os, sys; from kitpick_models.session import import_runtime;"
        "assert 'onnxruntime' not in sys.modules; import_runtime();"
        "print(os.environ['ORT_DISABLE_TELEMETRY'], os.getenv('ORT_DISABLE_TELEMETRY'))"
    )
    for value in ({}, {"ORT_DISABLE_TELEMETRY": "0"}, {"ORT_DISABLE_TELEMETRY": ""}):
        command = [sys.executable, "-c", script]
        said = subprocess.run(command, env=os.environ | value, capture_output=True, text=True, check=True)
        assert said.stdout.split() == ["1", "1"]


def test_nothing_but_the_session_imports_the_runtime():
    root = Path(__file__).parents[2]
    importing = re.compile(r"^\s*(import|from) onnxruntime|import_module\(.onnxruntime", re.MULTILINE)
    folders = ("kitpick", "foundation", "engines", "ingest", "rescorers", "evaluation", "onnx_models")
    found = {
        str(path.relative_to(root))
        for folder in (*folders, "training", "benchmarks", "tests")
        for path in (root / folder).rglob("*.py")
        if importing.search(path.read_text("utf-8"))
    }
    assert found == {"onnx_models/kitpick_models/session.py"}


def test_images_and_deployments_say_so_too():
    root = Path(__file__).parents[2]
    deployments = sorted((root / "rescorers").rglob("deployment.yaml"))
    assert deployments
    assert all(SILENT in each.read_text() for each in [*deployments, root / "docker-compose.yml"])
    images = [root / "rescorers" / "Dockerfile", root / "plugin" / "Dockerfile"]
    for image in images:
        stages = re.split(r"^FROM ", image.read_text(), flags=re.MULTILINE)
        run = [stage for stage in stages if "ENTRYPOINT" in stage or "opensearch-plugin install" in stage]
        assert run
        assert all(f"{SILENT}=1" in stage for stage in run)


@pytest.mark.needs("weights", "onnxruntime")
def test_a_gpu_that_is_not_there_is_an_error_and_not_a_slow_answer():
    onnxruntime = session.import_runtime()
    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this machine has a GPU")
    with pytest.raises(ProviderRefused):
        load_encoder(settings=RuntimeSettings(provider="cuda"))


def test_a_gpu_is_asked_for_with_its_number_and_what_may_stand_in():
    found = provider_list(RuntimeSettings(provider="cuda", device=1))
    assert [name for name, _ in found] == [CUDA, CPU_PROVIDER]
    assert found[0][1]["device_id"] == "1"
    assert provider_list(RuntimeSettings()) == [(CPU_PROVIDER, {})]


@pytest.mark.needs("weights", "onnxruntime")
def test_a_session_that_came_up_elsewhere_than_asked_is_refused(monkeypatch):
    """The runtime says it has CUDA, and then runs on the processor: what a missing driver looks like."""
    onnxruntime = session.import_runtime()
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CUDAExecutionProvider", *CPU])
    monkeypatch.setattr(session, "provider_list", lambda settings: [(CPU_PROVIDER, {})])
    with pytest.raises(ProviderRefused, match="cuda"):
        load_encoder(settings=RuntimeSettings(provider="cuda"))


@pytest.mark.needs("weights", "onnxruntime")
def test_io_binding_and_long_buckets_give_the_same_numbers():
    texts = ["weather", "the weather of a city " * 12, ""]
    plain = load_encoder().encode(texts)
    assert load_encoder(settings=RuntimeSettings(bound=True)).encode(texts).tobytes() == plain.tobytes()


SHAPES = """
import numpy as np, psutil
from kitpick_models.runtime import load_cross_encoder
from kitpick_models.batching import Row
from kitpick_models.settings import RuntimeSettings

def run(rows, length):
    ids = np.full(length, 7, np.int64)
    model.run([Row(ids, np.zeros_like(ids))] * rows, length)

model, process = load_cross_encoder(settings=RuntimeSettings(threads=1)), psutil.Process()
for length in range(2, 17, 2):
    run(128 // length, length)
before = process.memory_info().rss
shapes = [(rows, length) for length in range(2, 17, 2) for rows in range(1, 128 // length)]
for rows, length in shapes:
    run(rows, length)
print(len(shapes), (process.memory_info().rss - before) / len(shapes))
"""


@pytest.mark.needs("weights", "onnxruntime")
def test_no_memory_is_kept_for_every_shape_of_a_batch():
    """Shapes are rows times length: a service meets new ones for hours."""
    done = subprocess.run([sys.executable, "-c", SHAPES], capture_output=True, text=True, check=True)
    shapes, bytes_a_shape = done.stdout.split()
    assert int(shapes) > 150
    assert float(bytes_a_shape) < 4_000, "a plan of memory for one of these is 9 kB"


BLOCKED = """
import sys
sys.modules["onnxruntime"] = None
from kitpick_models.runtime import load_encoder
try:
    load_encoder()
except ImportError as error:
    print(error)
"""


@pytest.mark.needs("weights")
def test_a_missing_runtime_is_answered_with_the_install_line():
    done = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "running models needs the extra 'cpu': pip install 'kitpick[cpu]'"


def test_loading_the_runtime_modules_needs_neither_torch_nor_onnx():
    script = "import sys, kitpick_models.verify; print({'torch', 'onnx', 'onnxruntime'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def rewritten(folder: Path, content: bytes, name: str = "model.onnx") -> Path:
    """The model with another graph, or another file, whose digest its manifest names."""
    (folder / name).write_bytes(content)
    manifest = read_manifest(folder)
    write_manifest(folder, replace(manifest, files={**manifest.files, name: digest(content)}))
    return folder


@pytest.mark.needs("onnxruntime", "weights")
@pytest.mark.parametrize("damage", ["nothing", "words", "half", "noise", "another graph"])
def test_a_graph_that_cannot_be_loaded_is_corrupt_even_if_its_digest_agrees(encoder_copy, damage):
    model = (encoder_copy / "model.onnx").read_bytes()
    damaged = {
        "nothing": b"",
        "words": b"no graph at all",
        "half": model[: len(model) // 2],
        "noise": bytes(range(256)) * 40,
        "another graph": part(7, part(2, b"empty")),
    }[damage]
    with pytest.raises(CorruptModel, match=r"model\.onnx: cannot be loaded"):
        load_encoder(str(rewritten(encoder_copy, damaged)), RuntimeSettings())


@pytest.mark.needs("onnxruntime", "weights")
def test_weights_in_other_files_are_refused(encoder_copy):
    """No digest covers them."""
    outside = part(13, text(1, "location") + text(2, "weights.bin")) + number(14, 1)
    tensor = number(1, 4) + number(2, 1) + text(8, "outside") + outside
    node = part(1, text(4, "Constant") + part(5, text(1, "value") + part(5, tensor)))
    model = (encoder_copy / "model.onnx").read_bytes()
    for graph in (part(5, tensor), node, part(1, part(5, part(6, part(5, tensor))))):
        with pytest.raises(CorruptModel, match="other files"):
            load_encoder(str(rewritten(encoder_copy, model + part(7, graph))), RuntimeSettings())


@pytest.mark.needs("onnxruntime", "weights")
@pytest.mark.parametrize("damage", [b"", b"no tokenizer", b'{"version": "1.0"}', b"[" * 100_000, b"\xff\xfe"])
def test_a_tokenizer_that_cannot_be_loaded_is_corrupt_even_if_its_digest_agrees(encoder_copy, damage):
    with pytest.raises(CorruptModel, match=r"tokenizer\.json: cannot be loaded"):
        load_encoder(str(rewritten(encoder_copy, damage, "tokenizer.json")), RuntimeSettings())


@pytest.mark.needs("onnxruntime", "weights")
def test_a_tokenizer_of_another_model_is_refused_when_it_is_loaded(encoder_copy):
    """Its last tokens would fail requests some day; those before would mean other words."""
    tokenizer = json.loads((encoder_copy / "tokenizer.json").read_bytes())
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary |= {f"word{number}": len(vocabulary) + number for number in range(5)}
    other = rewritten(encoder_copy, json.dumps(tokenizer).encode(), "tokenizer.json")
    with pytest.raises(CorruptModel, match=r"model\.onnx: does not fit its tokenizer"):
        load_encoder(str(other), RuntimeSettings())


@pytest.mark.needs("onnxruntime", "weights")
def test_a_graph_of_other_dimensions_is_refused_when_it_is_loaded(encoder_copy):
    manifest = read_manifest(encoder_copy)
    write_manifest(encoder_copy, replace(manifest, dimensions=100))
    with pytest.raises(CorruptModel, match=r"answers numbers of shape \(1, 384\)"):
        load_encoder(str(encoder_copy), RuntimeSettings())
