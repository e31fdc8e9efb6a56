"""What a session runs on.

Which of onnxruntime's providers it asks for, in order and with which options, and whether the fast int8
products of this processor are exact.
"""

from __future__ import annotations

import platform
from pathlib import Path

from kitpick_models.settings import Provider, RuntimeSettings

_CPUINFO = Path("/proc/cpuinfo")
_EXACT = {"avx_vnni", "avx512_vnni", "amx_int8"}


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


CPU, CUDA, TENSORRT = "CPUExecutionProvider", "CUDAExecutionProvider", "TensorrtExecutionProvider"
NAMES: dict[Provider, str] = {"cpu": CPU, "cuda": CUDA, "tensorrt": TENSORRT}

ProviderList = list[tuple[str, dict[str, str]]]


def provider_list(settings: RuntimeSettings) -> ProviderList:
    """The provider asked for, then those that take the operators it does not have."""
    if settings.provider == "cpu":
        return [(CPU, {})]
    fallbacks: ProviderList = [(CUDA, _cuda(settings)), (CPU, {})]
    return fallbacks if settings.provider == "cuda" else [(TENSORRT, _tensorrt(settings)), *fallbacks]


def _cuda(settings: RuntimeSettings) -> dict[str, str]:
    """Memory grows by what is needed, not by doubling: several sessions share a card."""
    return {"device_id": str(settings.device), "arena_extend_strategy": "kSameAsRequested"}


def _tensorrt(settings: RuntimeSettings) -> dict[str, str]:
    """Half precision where that was asked for; engines are kept, because building one takes minutes."""
    options = {"device_id": str(settings.device), "trt_fp16_enable": "1" if settings.half else "0"}
    if settings.engine_cache:
        options |= {"trt_engine_cache_enable": "1", "trt_engine_cache_path": settings.engine_cache}
    return options
