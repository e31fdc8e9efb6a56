"""The slow, exact int8 kernel is for processors whose fast one would overflow."""

from __future__ import annotations

from pathlib import Path

import pytest

from kitpick_models.session import saturates


def cpuinfo(folder: Path, flags: str) -> Path:
    path = folder / "cpuinfo"
    path.write_text(f"processor\t: 0\nmodel name\t: a processor\nflags\t\t: fpu {flags} sse2\n")
    return path


@pytest.mark.parametrize("flags", ["avx_vnni", "avx2 avx512f avx512_vnni", "amx_int8"])
def test_vnni_and_amx_are_exact(tmp_path: Path, flags: str):
    assert not saturates(cpuinfo(tmp_path, flags), "x86_64")


@pytest.mark.parametrize("flags", ["", "avx2", "avx2 avx512f avx512_vnni_but_not_really"])
def test_other_x86_processors_saturate(tmp_path: Path, flags: str):
    assert saturates(cpuinfo(tmp_path, flags), "AMD64")


def test_an_x86_processor_that_does_not_say_is_taken_to_saturate(tmp_path: Path):
    assert saturates(tmp_path / "absent", "x86_64")


def test_arm_has_no_such_kernel(tmp_path: Path):
    assert not saturates(tmp_path / "absent", "aarch64")
