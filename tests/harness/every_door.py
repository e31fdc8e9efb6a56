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
WANTED = "give the money back"
TOOLS = {"send_email": "Send an email to somebody", "refund_charge": "Refund a charge to a card"}


def commands(folder: Path) -> dict[str, list[str]]:
    """Arguments of every command that runs in this process, in order."""
    own, asked = ["-c", f"sqlite:{folder / 'c.db'}"], str(folder / "asked.jsonl")
    trial = str(folder / "trial.db")
    return {
        "ingest": [f"functions:{folder / 'tools.json'}", *own],
        "search": [WANTED, *own],
        "list": own,
        "lock": [str(folder / "tools.lock"), *own],
        "eval": ["--queries", asked, "-p", "kitpick", *own],
        "models list": [],
        "models verify": ["reranker-l6"],
        "models card": ["reranker-l6"],
        "advise": own,
        "forget": own,
        "trial start": [trial, "--candidate", "hybrid"],
        "trial report": [trial],
        "trial promote": [trial],
        "trial stop": [trial],
        "copy": [own[1], f"sqlite:{folder / 'copied.db'}"],
    }


def ran(name: str, arguments: list[str]) -> None:
    """Runs a command in this process, and prints its name and exit code."""
    sys.argv = ["kitpick", *name.split(), *arguments]
    with redirect_stdout(io.TextIOWrapper(io.BytesIO())):
        try:
            main()
            code: object = 0
        except SystemExit as end:
            code = end.code or 0
    print(f"{name}: {code}", flush=True)


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
                print(f"serve {path}: {0 if answer.status == 200 else answer.status}", flush=True)
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
        print(f"mcp: {0 if 'refund_charge' in answer else answer[:300]}", flush=True)
        process.stdin.close()
        process.wait(300)


def run(folder: Path) -> None:
    """All of them, in a folder that may be written to."""
    described = [{"name": name, "description": text} for name, text in TOOLS.items()]
    (folder / "tools.json").write_text(json.dumps(described))
    (folder / "asked.jsonl").write_text(
        '{"query": "give the money back", "relevant": ["tools/tools/refund_charge"]}\n'
    )
    for name, arguments in commands(folder).items():
        ran(name, arguments)
    catalog = f"sqlite:{folder / 'c.db'}"
    spoken_to(catalog)
    served(catalog)


if __name__ == "__main__":
    run(Path(sys.argv[1]))
