"""Uses kitpick's commands and doors once, one after the other: `every_door.py FOLDER`, for `test_egress`."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
from contextlib import redirect_stdout
from pathlib import Path
from urllib.request import Request, urlopen

from kitpick.cli import main

KITPICK = [sys.executable, "-m", "kitpick"]
TOOLS = {"send_email": "Send an email to somebody", "refund_charge": "Refund a charge to a card"}


def ran(*arguments: str) -> None:
    """Runs a command in this process, and prints its name and exit code."""
    sys.argv = ["kitpick", *arguments]
    with redirect_stdout(io.TextIOWrapper(io.BytesIO())):
        try:
            main()
            code: object = 0
        except SystemExit as end:
            code = end.code or 0
    print(arguments[0], code, flush=True)


def served(catalog: str) -> None:
    """Asks a service with the page and the tools of a catalog, and ends it."""
    command = [*KITPICK, "serve", "--port", "0", "--ui", "--tools", "--catalog", catalog]
    command += ["--set", "warm_up_seconds=0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        url = next(line for line in process.stderr if " serves " in line).split(" serves ")[1].split()[0]
        threading.Thread(target=process.stderr.read, daemon=True).start()
        for path in ("/ui/api/explain", "/v1/tools/search"):
            body = json.dumps({"query": "give the money back"}).encode()
            with urlopen(
                Request(url + path, body, {"content-type": "application/json"}), timeout=300
            ) as answer:
                print(f"serve{path}", 0 if answer.status == 200 else answer.status, flush=True)
        process.terminate()


def spoken_to(catalog: str) -> None:
    """Searches by the MCP server, over its standard streams."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    calls = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {
            "id": 2,
            "method": "tools/call",
            "params": {"name": "search_tools", "arguments": {"query": "refund"}},
        },
    ]
    command = [*KITPICK, "mcp", "--catalog", catalog]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for call in calls:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **call}) + "\n")
            process.stdin.flush()
        answer = next(line for line in process.stdout if '"id":2' in line.replace(" ", ""))
        print("mcp", 0 if "refund_charge" in answer else answer[:300], flush=True)
        process.stdin.close()
        process.wait(300)


def run(folder: Path) -> None:
    """All of them, in a folder that may be written to."""
    catalog, tools, asked = f"sqlite:{folder / 'c.db'}", folder / "tools.json", folder / "asked.jsonl"
    tools.write_text(json.dumps([{"name": name, "description": text} for name, text in TOOLS.items()]))
    asked.write_text('{"query": "give the money back", "relevant": ["tools/tools/refund_charge"]}\n')
    ran("ingest", f"functions:{tools}", "-c", catalog)
    ran("search", "give the money back", "-c", catalog)
    ran("eval", "--queries", str(asked), "-c", catalog, "-p", "kitpick")
    ran("models", "verify", "reranker-l6")
    ran("advise", "-c", catalog)
    ran("trial", "start", str(folder / "trial.db"), "--candidate", "hybrid")
    spoken_to(catalog)
    served(catalog)


if __name__ == "__main__":
    run(Path(sys.argv[1]))
