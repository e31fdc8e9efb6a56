"""What a process costs while it has nothing to do."""

from __future__ import annotations

import os
import subprocess
import sys

ASLEEP = """
import time
import kitpick
import numpy as np
matrix = np.ones((400, 400))
matrix @ matrix
before = time.process_time()
time.sleep(0.2)
print(time.process_time() - before)
"""


CHOSEN = "import os, kitpick; print(os.environ['OPENBLAS_THREAD_TIMEOUT'])"


def printed(program: str, **chosen: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_THREAD_TIMEOUT"}
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env=environment | chosen,
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.strip()


def test_threads_of_numpy_do_not_spin_between_products() -> None:
    assert float(printed(ASLEEP)) < 0.02


def test_whoever_has_chosen_how_long_they_spin_keeps_that() -> None:
    assert printed(CHOSEN, OPENBLAS_THREAD_TIMEOUT="20") == "20"
