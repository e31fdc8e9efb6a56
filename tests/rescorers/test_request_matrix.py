"""A matrix on the vectors of requests: its file, the profile that names it, and what turns."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_rescorers.errors import InvalidProfile
from kitpick_rescorers.profiles import Profile, load_profile, parse_profile, profile_toml
from kitpick_rescorers.request_matrix import InvalidRequestMatrix, RequestMatrix, read_request_matrix

HALF_TURN = np.array([[-1.0, 1.0], [-1.0, -1.0]], np.float32)
"""Turns (1, 0) into (0, −1) and (0, 1) into (1, 0)."""
NAMED = 'name = "mine"\nstages = [{stage = "fuse"}]\n[first_stage]\nrequest_matrix = "m.npz"\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("matrices")


def npz(**arrays: object) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def test_a_request_is_turned_to_unit_length() -> None:
    matrix = RequestMatrix("axes@1", HALF_TURN)
    assert matrix.turned(np.array([0.0, 1.0], np.float32)).tolist() == [1.0, 0.0]
    assert matrix.turned(np.array([1.0, 0.0], np.float32)).tolist() == [0.0, -1.0]


def test_a_request_that_would_vanish_stays_as_it_is() -> None:
    vector = np.array([0.6, 0.8], np.float32)
    assert RequestMatrix("axes@1", -np.eye(2, dtype=np.float32)).turned(vector) is vector


@given(dimensions=st.integers(1, 40), seed=st.integers(0, 1_000))
def test_a_file_holds_what_was_written(folder: Path, dimensions: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = RequestMatrix("axes@1", rng.normal(size=(dimensions, dimensions)).astype(np.float32))
    content = matrix.encoded()
    path = folder / f"{seed}-{dimensions}.npz"
    path.write_bytes(content)
    found = read_request_matrix(path)
    assert found.encoder == "axes@1"
    assert np.allclose(found.weights, matrix.weights, rtol=1e-3, atol=1e-3)
    assert RequestMatrix("axes@1", found.weights).encoded() == content, "half precision loses nothing twice"


def test_what_is_no_file_is_not_read(folder: Path) -> None:
    pipe = folder / "pipe.npz"
    os.mkfifo(pipe)  # reading it would wait for ever
    for path in (pipe, Path("/dev/zero"), folder):
        with pytest.raises(InvalidRequestMatrix, match="is no file"):
            read_request_matrix(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no matrix for requests"),
        (b"PK\x03\x04 and nothing", "no matrix for requests"),
        (npz(weights=np.zeros((2, 2), np.float16)), "no matrix for requests: .*encoder"),
        (npz(weights=np.zeros((2, 3), np.float16), encoder="e"), "must be square"),
        (npz(weights=np.zeros(4, np.float16), encoder="e"), "must be square"),
        (npz(weights=np.zeros((0, 0), np.float16), encoder="e"), "must be square"),
        (npz(weights=np.zeros((2, 2)), encoder="e"), "half precision"),
        (npz(weights=np.full((2, 2), np.nan, np.float16), encoder="e"), "finite"),
        (npz(weights=np.array([object()]), encoder="e"), "no matrix for requests: .*pickle"),
    ],
)
def test_what_is_no_matrix_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "m.npz"
    path.write_bytes(content)
    with pytest.raises(InvalidRequestMatrix, match=rf"{path}: .*{reason}"):
        read_request_matrix(path)


def test_a_file_that_unpacks_to_too_much_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("weights.npy", b"\0" * 50_000_000)
    with pytest.raises(InvalidRequestMatrix, match="unpacks to more than"):
        read_request_matrix(path)


def test_a_profile_names_its_matrix_from_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(NAMED)
    (tmp_path / "m.npz").write_bytes(RequestMatrix("axes@1", HALF_TURN).encoded())
    profile = load_profile(tmp_path / "mine.toml")
    assert profile.first_stage.request_matrix == str(tmp_path / "m.npz")
    matrix = profile.request_matrix()
    assert matrix is not None
    assert np.array_equal(matrix.weights, HALF_TURN)
    assert profile.ranking_alone() == Profile("mine", profile.stages)


def test_a_matrix_that_is_gone_later_is_still_used(tmp_path: Path) -> None:
    """A search must not fail because somebody tidied up while it was served."""
    (tmp_path / "mine.toml").write_text(NAMED)
    (tmp_path / "m.npz").write_bytes(RequestMatrix("axes@1", HALF_TURN).encoded())
    profile = load_profile(tmp_path / "mine.toml")
    (tmp_path / "m.npz").unlink()
    assert profile.request_matrix() is not None


def test_a_profile_without_the_file_that_it_names_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(NAMED)
    with pytest.raises(InvalidProfile, match=r"first_stage.request_matrix: .*m.npz: cannot be read: .*adapt"):
        load_profile(tmp_path / "mine.toml")


def test_the_shipped_profiles_name_none() -> None:
    assert load_profile("kitpick").request_matrix() is None
    assert parse_profile(profile_toml(load_profile("kitpick")), "again.toml") == load_profile("kitpick")
