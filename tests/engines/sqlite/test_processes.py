"""Other processes: readers never see half a session, and `kill -9` leaves the state before or after it."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from asking import generation, mixture
from catalogs import SCHEMA, fill, item
from children import importing

from kitpick_engines.contract import Filter
from kitpick_engines.errors import EngineUnavailable
from kitpick_engines.sqlite import SqliteEngine, SqliteSettings

SCRIPT = Path(__file__).with_name("session_process.py")


def start(path: Path, first: int) -> subprocess.Popen[str]:
    """A process that writes generation `first` and those after it; returns once the first is committed."""
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), str(path), str(first)],
        stdout=subprocess.PIPE,
        text=True,
        env=importing(),
    )
    assert process.stdout.readline() == f"{first}\n"
    return process


def end(process: subprocess.Popen[str]) -> int:
    """Kills the process and returns the last generation it said it had committed, -1 for none unread."""
    process.kill()
    told, _ = process.communicate()
    return max((int(line) for line in told.split()), default=-1)


def test_a_reader_in_another_process_sees_old_or_new_never_a_mixture(tmp_path):
    path = tmp_path / "tools.db"
    process = start(path, 1)
    try:
        with closing(SqliteEngine(path)) as engine:
            seen, until = set(), time.monotonic() + 300
            while len(seen) <= 3 and time.monotonic() < until:
                assert mixture(engine) == ""
                seen.add(engine.fetch(["s/t/00"], Filter())[0].api)
    finally:
        end(process)
    assert len(seen) > 3, "the test saw no session end"


def test_streams_are_of_one_state_while_another_process_compacts(tmp_path):
    path = tmp_path / "tools.db"
    process = start(path, 1)
    try:
        with closing(SqliteEngine(path)) as engine:
            index, _ = engine.live()
            for _ in range(5):
                stream = engine.documents(index)
                first = next(stream)
                time.sleep(0.2)
                rest = list(stream)
                assert {each.document.api for each in rest} == {first.document.api}
                for each in rest:
                    np.testing.assert_array_equal(each.vector, first.vector)
    finally:
        end(process)


def test_kill_9_leaves_the_state_before_or_after_the_session(tmp_path):
    path = tmp_path / "tools.db"
    rng = random.Random(7)
    first = 1
    for _ in range(8):
        process = start(path, first)
        time.sleep(rng.uniform(0, 0.12))
        committed = max(first, end(process))
        with closing(SqliteEngine(path)) as engine:
            assert mixture(engine) == ""
            number = int(engine.fetch(["s/t/00"], Filter())[0].api[1:])
            assert number in (committed, committed + 1)
            index, _ = engine.live()
            expected = [(each.document.id, each.document.content_hash) for each in generation(number)]
            assert list(engine.hashes(index)) == expected
        first = number + 1
    with closing(SqliteEngine(path)) as engine:
        fill(engine, generation(first))
        assert mixture(engine) == ""
        assert len(list((tmp_path / "tools.db.vectors").iterdir())) == 1, "leftovers of killed sessions"


FORKING = """
import os, sys
from pathlib import Path
from kitpick_engines.sqlite import SqliteEngine
engine = SqliteEngine(Path(sys.argv[1]))
child = os.fork()
if child == 0:
    os._exit(engine.stats().documents)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), engine.stats().documents)
engine.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_an_engine_opened_before_a_fork_works_on_both_sides(tmp_path):
    path = tmp_path / "tools.db"
    with closing(SqliteEngine(path)) as engine:
        fill(engine, generation(1))
    command = [sys.executable, "-c", FORKING, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "20 20\n", "documents that the child counted, and its parent"


def test_a_second_writer_waits_and_gives_up_with_the_cure(tmp_path):
    path = tmp_path / "tools.db"
    patient, hasty = SqliteEngine(path), SqliteEngine(path, SqliteSettings(busy_seconds=0.05))
    with closing(patient), closing(hasty):
        index = fill(patient, [item()])
        with patient.writing(index) as writer:
            writer.write([item("s/t/b")])
            with pytest.raises(EngineUnavailable, match="another process is writing"), hasty.writing(index):
                pass
            assert hasty.ensure(SCHEMA) == index
            assert hasty.stats().documents == 1
        with hasty.writing(index) as writer:
            writer.delete(["s/t/b"])
        assert patient.stats().documents == 1
