"""An onnxruntime session that runs on the requested device, or fails."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from kitpick_foundation.errors import MissingExtra, in_brief
from kitpick_foundation.forks import OfThisProcess
from kitpick_models.batching import NATIVE, Workers, available_cpus
from kitpick_models.errors import (
    CorruptModel,
    ForkedModel,
    NotFinite,
    ProviderRefused,
    RuntimeClash,
    failures_as,
)
from kitpick_models.graph_file import keeps_weights_elsewhere, read_graph
from kitpick_models.graph_fusion import fused
from kitpick_models.manifest import MODEL, Manifest, Storage, place_of
from kitpick_models.settings import Provider, RuntimeSettings

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
NAMES: dict[Provider, str] = {"cpu": CPU, "cuda": CUDA}
ProviderList = list[tuple[str, dict[str, str]]]
"""onnxruntime's providers in the order in which they are asked, each with its options."""

SILENT = "ORT_DISABLE_TELEMETRY"
"""Read by onnxruntime while it loads: otherwise it keeps a device id and a store of events under the user's
cache, and sends them to its maker. The function that it offers for this stops neither."""
_CPUINFO = Path("/proc/cpuinfo")
_EXACT = {"avx_vnni", "avx512_vnni", "amx_int8"}
"""Features of a processor whose fast int8 products are exact."""
_PACKAGES = ("onnxruntime", "onnxruntime-gpu")
_DISABLED = ["SkipLayerNormFusion", "BiasGeluFusion"]
"""Their fused kernels cost more than what they replace: the first is scalar code, eight times the addition
and the normalisation; the second takes twice as long as addition and activation."""


class Session:
    """One loaded graph: arrays in, one float32 array out. Safe to use from several threads.

    A child of a fork loads the graph anew when it first needs it.
    """

    def __init__(
        self,
        model: bytes,
        storage: Storage,
        settings: RuntimeSettings,
        read_again: Callable[[], bytes] | None = None,
        output: str = "",
    ) -> None:
        """Loads a graph. `read_again` gives its bytes once more, for the child of a fork.

        `output` is the name of the only output that is computed; empty for all.

        Raises:
            ProviderRefused: it would not run where it was asked to.
        """
        opened = _open(model, storage, settings)
        self._process = os.getpid()
        self._session = OfThisProcess(lambda: opened if self._process == os.getpid() else self._again())
        self._read_again = read_again
        self._storage = storage
        self._settings = settings
        self.inputs = tuple(tensor.name for tensor in opened.get_inputs())
        """Names of what it reads, in the order in which `run` takes it."""
        self.outputs = [output] if output else [tensor.name for tensor in opened.get_outputs()]
        self._bound = settings.bound or settings.provider != "cpu"
        self.workers = Workers((settings.threads or available_cpus()) if settings.provider == "cpu" else 1)

    def run(self, arrays: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
        """Output for the graph's inputs: of a transformer token ids, mask and types, int64 (batch, tokens).

        Raises:
            NotFinite: the graph answered NaN or infinity.
        """
        output = self.run_all(arrays)[0]
        if not np.isfinite(output).all():
            raise NotFinite(f"a model answered NaN or infinity for a batch of shape {arrays[0].shape}")
        return output

    def run_all(self, arrays: Sequence[NDArray[Any]]) -> list[NDArray[np.float32]]:
        """All outputs of the graph, unchecked: a graph made for calibration has many."""
        if self._bound:
            return self._run_bound(arrays)
        session = self._session.made or self._session.get()
        with NATIVE:
            found: list[NDArray[np.float32]] = session.run(
                self.outputs, dict(zip(self.inputs, arrays, strict=True))
            )
        return found

    def _run_bound(self, arrays: Sequence[NDArray[Any]]) -> list[NDArray[np.float32]]:
        """The same by IO binding: outputs are made where they are computed and copied once."""
        session = self._session.made or self._session.get()
        with NATIVE:
            binding = session.io_binding()
            for name, array in zip(self.inputs, arrays, strict=True):
                binding.bind_cpu_input(name, array)
            for name in self.outputs:
                binding.bind_output(name)
            session.run_with_iobinding(binding)
            found: list[NDArray[np.float32]] = binding.copy_outputs_to_cpu()
        return found

    def _again(self) -> Any:  # noqa: ANN401  (onnxruntime has no type stubs)
        """The graph of the child of a fork.

        Raises:
            ForkedModel: it cannot be loaded here.
        """
        if self._settings.provider != "cpu" or self._read_again is None:
            raise ForkedModel(self._settings.provider)
        return _open(self._read_again(), self._storage, self._settings)


def _open(model: bytes, storage: Storage, settings: RuntimeSettings) -> Any:  # noqa: ANN401
    runtime = import_runtime()
    require_provider(settings.provider, runtime.get_available_providers())
    with NATIVE:
        opened = runtime.InferenceSession(
            fused(model) if _fuses(storage, settings) else model,
            _options(runtime, storage, settings),
            providers=provider_list(settings),
            disabled_optimizers=_DISABLED,
        )
    require_provider(settings.provider, opened.get_providers())
    return opened


def open_session(folder: Path, manifest: Manifest, settings: RuntimeSettings) -> Session:
    """The session of a model's graph.

    Raises:
        CorruptModel: missing, another one than its manifest names, one that cannot be loaded, or one that
            keeps weights in other files: no digest covers these.
        MissingExtra, RuntimeClash, ProviderRefused: it cannot be run here, or not on this device.
    """
    data, path = read_graph(folder, manifest), place_of(folder, manifest, MODEL)
    told = "cannot be loaded: {}: {}".format
    with failures_as(lambda error: CorruptModel(path, told(type(error).__name__, in_brief(error)))):
        if keeps_weights_elsewhere(data):
            raise CorruptModel(path, "keeps weights in other files, which no digest covers")
        output = "" if manifest.reading is UNSET else manifest.reading.output
        return Session(data, manifest.storage, settings, lambda: read_graph(folder, manifest), output)


def require_provider(asked: Provider, granted: Iterable[str]) -> None:
    """Checks that the asked device is among the granted ones: onnxruntime itself falls back in silence.

    Raises:
        ProviderRefused: it is not.
    """
    granted = list(granted)
    if NAMES[asked] not in granted:
        raise ProviderRefused(asked, granted)


def require_one_runtime(installed: Iterable[str]) -> None:
    """Checks that not both packages of the one module are installed.

    Raises:
        RuntimeClash: they are.
    """
    found = set(installed) & set(_PACKAGES)
    if len(found) > 1:
        raise RuntimeClash(found)


@cache
def import_runtime() -> Any:  # noqa: ANN401  (the module has no type stubs)
    """The onnxruntime module, which sends no usage data: the only place that imports it.

    Raises:
        MissingExtra: not installed.
        RuntimeClash: installed twice.
    """
    require_one_runtime(name for name in _PACKAGES if _is_installed(name))
    os.environ[SILENT] = "1"
    try:
        import onnxruntime  # noqa: TID251
    except ImportError as error:
        raise MissingExtra("cpu", "running models") from error
    return onnxruntime


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _fuses(storage: Storage, settings: RuntimeSettings) -> bool:
    """Where products saturate, onnxruntime has to change their weights first, and finds them by the pairs."""
    return storage == "static_int8" and settings.provider == "cpu" and not saturates()


def _options(runtime: Any, storage: Storage, settings: RuntimeSettings) -> Any:  # noqa: ANN401
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1  # see `workers`
    options.inter_op_num_threads = 1
    # It plans memory by shape and keeps every plan, about 30 kB each; batches come in hundreds of shapes.
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    if saturates():
        options.add_session_config_entry("session.x64quantprecision", "1")
    if storage == "weight_int8" or settings.provider != "cpu":
        # Weights are unpacked once, at load, instead of in every run.
        options.add_session_config_entry("session.disable_quant_qdq", "1")
    return options


def saturates(cpuinfo: Path = _CPUINFO, machine: str | None = None) -> bool:
    """Whether sums of u8 × s8 products may overflow 16 bits here, and so silently change scores.

    That is an x86 processor without VNNI, or one that does not say (other systems than Linux). onnxruntime
    has an exact kernel for those; it is two to three times slower, so the others must not be given it.
    """
    if (machine or platform.machine()).lower() not in {"x86_64", "amd64"}:
        return False
    try:
        lines = cpuinfo.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return True
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    return _EXACT.isdisjoint(flags)


def provider_list(settings: RuntimeSettings) -> ProviderList:
    """The provider asked for, then those that take the operators it does not have."""
    return [(CPU, {})] if settings.provider == "cpu" else [(CUDA, _cuda(settings)), (CPU, {})]


def _cuda(settings: RuntimeSettings) -> dict[str, str]:
    """Memory grows by what is needed, not by doubling: several sessions share a card."""
    return {"device_id": str(settings.device), "arena_extend_strategy": "kSameAsRequested"}
