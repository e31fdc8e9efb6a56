"""Typed values are decoded by decoders that are built under one lock, everywhere."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from packages import PACKAGES
from sizes import sized

from kitpick_foundation.decoding import convert_to, decode_as, decoder_of

ROOT = Path(__file__).parents[2]
FRESH = int(sized("KITPICK_FRESH_PROCESSES", 1, 30))
"""Fresh processes that a test starts."""

_FIRST_USES = """
import sys, threading
from typing import Annotated
import msgspec
from kitpick_foundation.decoding import convert_to, decode_as

Count = Annotated[int, msgspec.Meta(ge=0)]
ways = [
    lambda inner, outer: decode_as(b'{"f1":1,"f19":2}', inner).f1,
    lambda inner, outer: decode_as(b'{"f3":[{"f1":1},{"f19":2}]}', outer).f3[0].f1,
    lambda inner, outer: convert_to({"f3": [{"f1": 1}]}, outer).f3[0].f1,
    lambda inner, outer: decode_as(b'[{"f1":1}]', list[inner])[0].f1,
]
sys.setswitchinterval(1e-6)
for family in range(300):
    fields = [(f"f{number}", Count, 0) for number in range(20)]
    inner = msgspec.defstruct(f"Inner{family}", fields, module=__name__)
    fields = [(f"f{number}", list[inner] | None, None) for number in range(20)]
    outer = msgspec.defstruct(f"Outer{family}", fields, module=__name__)
    start, found = threading.Barrier(16), []
    def use(number):
        start.wait()
        found.append(ways[number % len(ways)](inner, outer))
    threads = [threading.Thread(target=use, args=(number,)) for number in range(16)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert found == [1] * 16
print("alive")
"""


@pytest.mark.sweep
def test_types_that_many_threads_use_first_at_once_do_not_end_the_process() -> None:
    for _ in range(FRESH):
        command = [sys.executable, "-c", _FIRST_USES]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        assert (done.returncode, done.stdout.strip()) == (0, "alive"), done.stderr[-2000:]


_FORMATS = "json|toml|yaml|msgpack"


def _typed_decoding(tree: ast.Module) -> list[int]:
    """Lines that decode or convert with a type by msgspec itself."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            given = bool(node.args or node.keywords)
            typed = len(node.args) > 1 or any(keyword.arg == "type" for keyword in node.keywords)
            decodes = typed and re.fullmatch(rf"msgspec\.({_FORMATS})\.decode", name)
            builds = given and re.fullmatch(rf"msgspec\.({_FORMATS})\.Decoder", name)
            if name == "msgspec.convert" or decodes or builds:
                found.append(node.lineno)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("msgspec"):
            hidden = {alias.name for alias in node.names} & {"convert", "Decoder", "decode", "json"}
            found += [node.lineno] * bool(hidden)
    return found


@pytest.mark.parametrize("folder", PACKAGES)
def test_no_module_decodes_a_type_past_the_lock(folder: str) -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in (ROOT / folder).rglob("*.py")
        if path.parts[-2:] != ("kitpick_foundation", "decoding.py")
        for line in _typed_decoding(ast.parse(path.read_text()))
    }
    assert not found, "use kitpick_foundation.decoding: msgspec builds types in several threads at once"


@pytest.mark.parametrize(
    "way",
    [
        "msgspec.json.decode(x, type=T)",
        "msgspec.toml.decode(x, type=T)",
        "msgspec.convert(x, T)",
        "msgspec.json.Decoder(T)",
        "from msgspec import convert",
        "from msgspec.json import Decoder",
    ],
)
def test_the_check_of_modules_sees_every_way_to_decode_a_type(way: str) -> None:
    assert _typed_decoding(ast.parse(way)) == [1]


def test_the_check_of_modules_lets_pass_what_builds_no_type() -> None:
    fine = "msgspec.json.decode(x); msgspec.json.Decoder(); msgspec.json.encode(x).decode('ascii', 'replace')"
    assert _typed_decoding(ast.parse(fine)) == []


class _Tree(msgspec.Struct):
    name: str
    below: list[_Tree] = []


def test_a_type_has_one_decoder_and_a_wrong_value_is_refused() -> None:
    assert decoder_of(_Tree) is decoder_of(_Tree)
    assert decoder_of(list[_Tree]) is not decoder_of(_Tree)
    assert decode_as(b'{"name":"a","below":[{"name":"b"}]}', _Tree).below[0].name == "b"
    assert convert_to({"name": "a"}, _Tree | int).name == "a"
    assert convert_to("7", int, strict=False) == 7
    with pytest.raises(msgspec.ValidationError):
        convert_to("7", int)
    with pytest.raises(msgspec.ValidationError):
        decode_as(b'{"name":1}', _Tree)
