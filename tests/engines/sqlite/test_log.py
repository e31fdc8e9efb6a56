"""A plain copy of the file and its vectors holds every commit: nothing stays in a log beside it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from asking import generation, mixture
from catalogs import fill, item
from children import importing

from kitpick_engines.contract import Filter
from kitpick_engines.sqlite import SqliteEngine


def plain_copy(path: Path, folder: Path) -> Path:
    """As `cp` would do it with the two names that the documentation gives."""
    folder.mkdir()
    shutil.copy(path, folder / path.name)
    shutil.copytree(f"{path}.vectors", folder / f"{path.name}.vectors")
    return folder / path.name


def documents(path: Path) -> int:
    with closing(SqliteEngine(path)) as engine:
        stats = engine.stats()
    return stats.documents if stats else 0


def test_a_copy_after_each_session_holds_it(tmp_path: Path) -> None:
    with closing(SqliteEngine(tmp_path / "tools.db")) as engine:
        for count in range(1, 4):
            fill(engine, [item(f"s/t/{count}-{number}", description="x" * 5000) for number in range(50)])
            engine.fetch(["s/t/1-1"], Filter())  # an idle reader stays open
            assert documents(plain_copy(tmp_path / "tools.db", tmp_path / str(count))) == 50 * count


def test_no_log_is_left_when_everything_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "tools.db"
    with closing(SqliteEngine(path)) as reader, closing(SqliteEngine(path)) as writer:
        fill(writer, generation(1))
        held = reader.documents(reader.live()[0])
        next(held)  # a snapshot that the next session must not disturb
        fill(writer, generation(2))
        assert {each.document.api for each in held} == {"g1"}
    assert {file.name for file in tmp_path.iterdir()} == {"tools.db", "tools.db.vectors"}
    with closing(SqliteEngine(plain_copy(path, tmp_path / "copy"))) as copied:
        assert mixture(copied) == ""
        assert copied.fetch(["s/t/00"], Filter())[0].api == "g2"


def test_the_log_of_a_killed_process_is_merged_by_whoever_closes_next(tmp_path: Path) -> None:
    script = Path(__file__).with_name("session_process.py")
    path = tmp_path / "tools.db"
    process = subprocess.Popen(
        [sys.executable, str(script), str(path), "1"], stdout=subprocess.PIPE, text=True, env=importing()
    )
    process.stdout.readline()
    process.kill()
    process.communicate()
    with closing(SqliteEngine(path)) as engine:
        index, _ = engine.live()
        held = list(engine.hashes(index))
    assert not path.with_name("tools.db-wal").exists()
    with closing(SqliteEngine(plain_copy(path, tmp_path / "copy"))) as engine:
        assert list(engine.hashes(index)) == held
