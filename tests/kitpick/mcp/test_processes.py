"""Servers that are started: none outlives its session or this process, and what they write is shown."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from kitpick_engines.document import ApiDocument
from kitpick_ingest.errors import SourceError
from kitpick_ingest.sources.mcp_endpoint import LiveSettings
from kitpick_ingest.sources.mcp_live import McpLiveSource

pytestmark = [
    pytest.mark.needs("mcp"),
    pytest.mark.skipif(sys.platform == "win32", reason="groups of processes are of POSIX"),
]

SERVER = """
import json, os, signal, subprocess, sys, time
TOOL = {"name": "read_note", "description": "Read a note", "inputSchema": {"type": "object"}}
RESULTS = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                          "serverInfo": {"name": "notes", "version": "1"}}, "tools/list": {"tools": [TOOL]}}
def serve():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            found = RESULTS.get(message["method"])
            body = {"result": found} if found else {"error": {"code": -32601, "message": "no"}}
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)
"""
STUBBORN = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
SLEEP = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]
child = subprocess.Popen(SLEEP, stdin=subprocess.DEVNULL)
with open(sys.argv[1], "w") as file:
    file.write(f"{os.getpid()} {child.pid}")
"""
QUICK = LiveSettings(request_seconds=60, total_seconds=120)


def source(tmp_path: Path, more: str, *arguments: str, settings: LiveSettings = QUICK) -> McpLiveSource:
    script = tmp_path / "server.py"
    script.write_text(SERVER + textwrap.dedent(more))
    command = shlex.join([sys.executable, "-I", "-S", str(script), *arguments])
    return McpLiveSource(f"stdio:{command}", "notes", settings)


def gone(pid: int) -> bool:
    """Whether a process ends within a moment."""
    for _ in range(600):
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.1)
    return False


def test_a_server_that_will_not_end_ends_with_its_session_and_so_does_what_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    (tool,) = source(tmp_path, STUBBORN + "serve()\ntime.sleep(600)\n", str(pids)).read()
    assert isinstance(tool, ApiDocument)
    assert all(gone(int(pid)) for pid in pids.read_text().split())


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_who_is_killed_while_a_server_starts_leaves_nobody_behind(
    tmp_path: Path, sent: signal.Signals
) -> None:
    pids = tmp_path / "pids"
    spec = source(tmp_path, STUBBORN + "time.sleep(600)\n", str(pids))._endpoint
    code = (
        "import sys; from kitpick_ingest.sources.mcp_live import McpLiveSource; "
        "list(McpLiveSource('stdio:' + sys.argv[1]).read())"
    )
    with subprocess.Popen([sys.executable, "-c", code, shlex.join(spec.command)]) as killed:
        while not pids.exists() or len(pids.read_text().split()) < 2:
            assert killed.poll() is None
            time.sleep(0.05)
        killed.send_signal(sent)
        killed.wait()
    assert all(gone(int(pid)) for pid in pids.read_text().split())


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            "sys.stderr.write('missing licence\\n'); sys.exit(3)",
            "it ended with exit code 3; it wrote: missing licence",
        ),
        ("print('no key is set'); sys.exit(1)", "it wrote: no key is set"),
        ("sys.stderr.write('a\\x1b[2J\\x07b\\u202ec'); sys.exit(1)", r"it wrote: a\x1b[2J\x07b\u202ec"),
        ("sys.stderr.write('\\n'.join('abcde')); sys.exit(1)", "it wrote: c | d | e"),
        ("sys.stderr.write('x' * 10_000_000 + '\\nthe end\\n'); sys.exit(1)", "| the end"),
        ("sys.stderr.buffer.write(b'\\xff\\xfe\\n'); sys.exit(1)", "it wrote: \ufffd\ufffd"),
    ],
)
def test_what_a_server_wrote_before_it_failed_is_shown(tmp_path: Path, more: str, said: str) -> None:
    with pytest.raises(SourceError) as caught:
        list(source(tmp_path, more).read())
    assert said in str(caught.value)
    assert len(str(caught.value)) < 1_500


@pytest.mark.parametrize(
    "noise",
    [
        "print('ready'); print()",
        "print('[1, 2')",
        "print('\\n'.join(json.dumps({'level': 'error', 'id': n}) for n in range(9)))",
        "print('{ starting')",
        'print(\'{\\n  "level": "info",\\n  "said": [1,\\n2]}\')',
        "sys.stdout.buffer.write(b'\\xff\\n')",
        "print('x' * 3_000_000)",
    ],
)
def test_noise_between_the_messages_costs_nothing(
    tmp_path: Path, noise: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (tool,) = source(tmp_path, f"{noise}; sys.stdout.flush()\nserve()\n").read()
    assert isinstance(tool, ApiDocument)
    assert capfd.readouterr().err == ""


def test_a_line_above_the_limit_costs_its_request(tmp_path: Path) -> None:
    more = "TOOL['description'] = 'x' * 3_000_000\nserve()\n"
    small = LiveSettings(request_seconds=60, max_answer_bytes=100_000)
    with pytest.raises(SourceError, match=r"tools/list failed: .* above the limit of 100,000 bytes"):
        list(source(tmp_path, more, settings=small).read())


WRITTEN = "written = json.dumps\njson.dumps = lambda value: {}\n"
MANY = "RESULTS['tools/list']['tools'] = [TOOL | {'name': f'note_{n}'} for n in range(2_000)]\n"


@pytest.mark.parametrize(
    "form",
    [
        "written(value, indent=2)",
        "written(value, indent=2).replace('\\n', '\\r\\n')",
        "written(value, indent=0)",
        "written(value | {'note': 'a { [ \\\\\" ] } of words'}, indent=2)",
        "written(value).replace('{', '{\\n').replace('}', '\\n}')",
        "written([value])",
        "written([value], indent=2)",
        "'\\ufeff' + written(value, ensure_ascii=False)",
    ],
)
def test_a_message_may_be_written_in_other_ways_than_on_one_line(tmp_path: Path, form: str) -> None:
    more = "sys.stdout.reconfigure(encoding='utf-8')\n" + WRITTEN.format(form) + MANY
    tools = list(source(tmp_path, more + "serve()\n").read())
    assert len(tools) == 2_000
    assert all(isinstance(tool, ApiDocument) for tool in tools)


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("{'id': value['id'], 'result': value.get('result')}", "jsonrpc: Field required"),
        ("value | {'id': float(value['id'])}", "id.int: Input should be a valid integer"),
        ("{'jsonrpc': '2.0', 'id': value['id'], 'error': 'boom'}", "error: Input should be an object"),
        ("value | {'result': 7}", "result: Input should be an object"),
    ],
)
def test_an_answer_that_is_no_message_is_told_at_once(tmp_path: Path, form: str, said: str) -> None:
    patient = LiveSettings(request_seconds=600, total_seconds=900)
    more = WRITTEN.format(f"written({form})") + "serve()\n"
    with pytest.raises(SourceError, match="is no message that can be read: ") as caught:
        list(source(tmp_path, more, settings=patient).read())
    assert said in str(caught.value)


@pytest.mark.parametrize(("depth", "read"), [(300, True), (100_000, False)])
def test_a_deep_schema_costs_its_tool_at_most_or_is_told_at_once(
    tmp_path: Path, depth: int, read: bool
) -> None:
    deep = f"'[' * {depth} + ']' * {depth}"
    more = WRITTEN.format(f"written(value).replace('\"DEEP\"', {deep})")
    more += "RESULTS['tools/list']['tools'] = [TOOL | {'inputSchema': {'default': 'DEEP'}}, TOOL]\nserve()\n"
    patient = LiveSettings(request_seconds=600, total_seconds=900)
    items = source(tmp_path, more, settings=patient).read()
    if read:
        assert isinstance(list(items)[-1], ApiDocument)
    else:
        with pytest.raises(SourceError, match="nested too deeply"):
            list(items)


def test_a_message_over_many_lines_above_the_limit_costs_its_request(tmp_path: Path) -> None:
    more = WRITTEN.format("written(value, indent=2)") + MANY + "serve()\n"
    small = LiveSettings(request_seconds=60, max_answer_bytes=100_000)
    with pytest.raises(SourceError, match=r"tools/list failed: .* above the limit of 100,000 bytes"):
        list(source(tmp_path, more, settings=small).read())


def test_a_message_that_never_ends_is_told(tmp_path: Path) -> None:
    more = """
    sys.stdin.readline()
    print('{\\n  "jsonrpc": "2.0",')
    """
    with pytest.raises(SourceError, match="began a message over several lines, and did not end it") as caught:
        list(source(tmp_path, more).read())
    assert '{ "jsonrpc": "2.0",' in str(caught.value)


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(SourceError, match="no-such-program"):
        list(McpLiveSource("stdio:no-such-program --key secret").read())
