"""Whether this processor's fast int8 products are exact."""

from __future__ import annotations

import platform
from pathlib import Path

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
