"""Which of onnxruntime's providers a session asks for, in order, and with which options."""

from __future__ import annotations

from toolrank_models.settings import Provider, RuntimeSettings

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
