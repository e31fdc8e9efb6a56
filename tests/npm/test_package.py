"""The npm package, built and tried in node against the real service and the real MCP server."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kitpick.catalog import Catalog
from kitpick.settings import Settings

pytestmark = [pytest.mark.needs("weights", "onnxruntime", "serve", "mcp", "node"), pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
TOOLS = {
    "get_weather": ("Current weather and forecast for a city", ["city"]),
    "send_email": ("Send an email message to a recipient", ["recipient", "subject"]),
    "create_event": ("Create a new event in the calendar", ["title"]),
    "delete_file": ("Delete a file from the disk for ever", ["path"]),
}

OWN = """
import { MockLanguageModelV3 } from "ai/test";
import type { LanguageModelV3Content } from "@ai-sdk/provider";

export const callApi = (id: string, args: unknown): unknown => `${id} of ${JSON.stringify(args)}: rain`;

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** Calls the first tool that it is offered, then says that it will rain. */
export const model = new MockLanguageModelV3({
  doGenerate: async ({ prompt, tools }) => {
    const done = prompt.some((message) => message.role === "tool");
    const toolName = tools?.[0]?.name ?? "";
    const call = { type: "tool-call", toolCallId: "1", toolName, input: '{"city":"Paris"}' };
    const content = (done ? { type: "text", text: "It will rain." } : call) as LanguageModelV3Content;
    const finishReason = { unified: done ? "stop" : "tool-calls", raw: undefined } as const;
    return { content: [content], finishReason, usage, warnings: [] };
  },
});
"""
"""What is the reader's own on the page for agents."""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Variables that name a catalog of four tools."""
    functions = [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": text,
                "parameters": {
                    "type": "object",
                    "properties": {each: {"type": "string"} for each in needs},
                    "required": needs,
                },
            },
        }
        for name, (text, needs) in TOOLS.items()
    ]
    (tmp_path / "functions.json").write_text(json.dumps(functions))
    settings = Settings(
        catalog=f"sqlite:{tmp_path / 'catalog.db'}", embedding_cache=tmp_path / "embeddings.db"
    )
    with Catalog.open(settings=settings) as catalog:
        catalog.ingest(f"functions:{tmp_path / 'functions.json'}")
    return {**os.environ, "KITPICK_CATALOG": settings.catalog}


@contextmanager
def serving(environment: dict[str, str], *arguments: str) -> Iterator[str]:
    """URL of a kitpick that serves on a free port."""
    command = [sys.executable, "-c", "from kitpick.cli import main; main()", *arguments, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if " serves " in line:
                    yield next(word for word in line.split() if word.startswith("http"))
                    return
            raise AssertionError(f"ended with {process.wait()}")
        finally:
            process.send_signal(signal.SIGTERM)
            process.stderr.close()


def test_the_package_finds_refers_and_tells(package: Path, environment: dict[str, str]) -> None:
    with (
        serving(environment, "serve", "--tools") as service,
        serving(environment, "mcp", "--http") as door,
    ):
        done = subprocess.run(
            ["npm", "test"],
            cwd=package,
            env={**environment, "KITPICK_URL": service, "KITPICK_MCP_URL": door},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "pass 9" in done.stdout, done.stdout
    assert "skipped 0" in done.stdout, "the MCP server was tried too"


def test_the_page_for_agents_and_the_readme_run_in_node(package: Path, environment: dict[str, str]) -> None:
    page = "".join((ROOT / name).read_text("utf-8") for name in ("docs/agents.md", "npm/README.md"))
    (package / "test" / "own.ts").write_text(OWN)
    for number, code in enumerate(re.findall(r"```ts\n(.*?)```", page, re.DOTALL)):
        (package / "test" / f"page{number}.ts").write_text(code.replace('"kitpick"', '"../src/index.js"'))
    built = ["npx", "tsc", "-p", "tsconfig.test.json"]
    subprocess.run(built, cwd=package, check=True, timeout=300, capture_output=True)
    with serving(environment, "serve", "--tools") as service:
        for number in range(3):
            done = subprocess.run(
                ["node", f"dist-test/test/page{number}.js"],
                cwd=package,
                env={**environment, "KITPICK_URL": service},
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            assert done.stdout, done.stderr
            shown = "".join(f"    {line}\n" for line in done.stdout.splitlines())
            assert f"```\n\n{shown}" in page


IMPORTED = 'import { Kitpick, KitpickMcp, agentTools } from "kitpick";'
REQUIRED = 'const { Kitpick, KitpickMcp, agentTools } = require("kitpick");'
ASKED = """
const kitpick = new Kitpick({ url: "http://127.0.0.1:9" });
kitpick.search(["a"]).catch((error) => console.log(error.code, typeof KitpickMcp, typeof agentTools));
"""
TYPED = """
import { Kitpick, type SearchAnswer } from "kitpick";
export const ask = (of: Kitpick): Promise<SearchAnswer> => of.search({ capabilities: ["a"] }, { k: 1 });
// @ts-expect-error a request is no number
new Kitpick({ url: "http://127.0.0.1:9" }).search(1);
"""
COMPILED = ("--noEmit", "--strict", "--target", "es2022", "--types", "", "--lib", "es2022,dom")


def test_what_is_published_is_imported_and_required(package: Path, tmp_path: Path) -> None:
    packed = subprocess.run(
        ["npm", "pack", "--silent", "--pack-destination", str(tmp_path)],
        cwd=package, check=True, timeout=300, capture_output=True, text=True,
    )  # fmt: skip
    user = tmp_path / "user" / "node_modules" / "kitpick"
    user.mkdir(parents=True)
    archive = tmp_path / packed.stdout.split()[-1]
    subprocess.run(["tar", "-xzf", archive, "--strip-components=1", "-C", user], check=True, timeout=60)
    for name, code in (("esm.mjs", IMPORTED), ("cjs.cjs", REQUIRED)):
        (tmp_path / "user" / name).write_text(code + ASKED)
        said = subprocess.run(
            ["node", name], cwd=tmp_path / "user", check=True, timeout=60, capture_output=True, text=True
        )
        assert said.stdout == "unreachable function function\n", name
    for name in ("esm.mts", "cjs.cts"):
        (tmp_path / "user" / name).write_text(TYPED)
        tsc = [package / "node_modules" / ".bin" / "tsc", *COMPILED, "--module", "node16", name]
        typed = subprocess.run(
            tsc, cwd=tmp_path / "user", timeout=300, capture_output=True, text=True, check=False
        )
        assert typed.returncode == 0, f"{name}: {typed.stdout}"
    files = {str(file.relative_to(user)) for file in user.rglob("*") if file.is_file()}
    assert {"README.md", "package.json", "dist/esm/index.d.ts", "dist/cjs/index.d.ts"} <= files
    assert not {file for file in files if file.endswith(".ts") and not file.endswith(".d.ts")}


def test_the_package_needs_nothing_and_has_the_version_of_the_project() -> None:
    described = json.loads((ROOT / "npm" / "package.json").read_text("utf-8"))
    assert "dependencies" not in described
    for name in set(described["files"]) - {"dist"}:
        assert (ROOT / "npm" / name).is_file(), "what is published is there"
    assert f'\nversion = "{described["version"]}"\n' in (ROOT / "pyproject.toml").read_text("utf-8")
