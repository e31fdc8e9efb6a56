"""A real OpenSearch node with k-NN (engine `lucene`) and the Java agent, from Maven Central artifacts."""

from __future__ import annotations

import functools
import os
import shutil
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from distribution import assembled
from jdk import INSTALL, INSTALL_GUARDED, find_guarded_java, find_jdk
from maven import fetch
from node_process import Node, as_nobody, free_port

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
RECIPE = HERE / "opensearch"
CHOSEN = HERE / os.environ.get("KITPICK_OPENSEARCH_RECIPE", RECIPE.name)
"""What the nodes of the plugin's tests are made of; `opensearch-2.19` tries them on the line before 3."""
_DESCRIPTOR = "plugin-descriptor.properties"
_CONNECTS = """
  permission java.net.SocketPermission "*", "accept,connect,resolve";
  permission java.io.FilePermission "/proc/sys/net/core/somaxconn", "read";
"""


def opensearch_node(
    folder: Path,
    plugins: Sequence[Path] = (),
    port: int | None = None,
    heap: str = "512m",
    settings: Sequence[str] = (),
    recipe: Path = RECIPE,
) -> Node:
    """A node that is ready to be started.

    Args:
        folder: for its home, configuration, data and log; data that is there already is kept.
        plugins: zips to install, besides those that OSNODE_PLUGINS names (separated by spaces).
        port: of HTTP; by default a free one.
        heap: as `-Xmx` takes it.
        settings: `key=value` of the node.
        recipe: folder of an `artifacts.toml` that says what the node is made of.
    """
    folder = folder.resolve()
    named = [Path(name) for name in os.environ.get("OSNODE_PLUGINS", "").split()]
    home = _home(folder, distribution(recipe), [*plugins, *named])
    port = port or free_port()
    _configure(folder, port)
    command = [
        *as_nobody(), *_java(home), f"-Xms{heap}", f"-Xmx{heap}", f"-Djava.io.tmpdir={folder / 'tmp'}",
        f"-Dopensearch.path.home={home}", f"-Dopensearch.path.conf={folder / 'config'}",
        "-cp", f"{home}/lib/*", "org.opensearch.bootstrap.OpenSearch", *(f"-E{each}" for each in settings),
    ]  # fmt: skip
    return Node(command, folder, port)


def distribution(recipe: Path = RECIPE) -> Path:
    """The folder that holds `lib`, `modules`, `plugins` and `agent`, fetched if it is not in the cache."""
    file = recipe / "artifacts.toml"
    made_by = [file, Path(__file__), HERE / "maven.py"]
    return assembled(recipe.name, made_by, functools.partial(_assemble, file))


def version(recipe: Path = RECIPE) -> str:
    """Of OpenSearch: a plugin must be built for exactly this one."""
    return str(_read(recipe / "artifacts.toml")["version"])


def build_options(recipe: Path = RECIPE) -> list[str]:
    """What Maven has to be told to build the plugin for this version."""
    return list(_read(recipe / "artifacts.toml").get("build", ()))


def _java(home: Path) -> list[str]:
    """Java with what guards the node: an agent, before OpenSearch 3 Java's security manager.

    Raises:
        RuntimeError: there is no Java that can start this node.
    """
    agents = list((home / "agent").glob("opensearch-agent-[0-9]*.jar"))
    java = find_jdk() if agents else find_guarded_java()
    if java is None:
        raise RuntimeError(INSTALL if agents else INSTALL_GUARDED)
    guarded = [f"-javaagent:{agent}" for agent in agents] or ["-Djava.security.manager=allow"]
    vectors = ["--add-modules=jdk.incubator.vector"] if agents else []
    return [str(java / "bin" / "java"), f"@{RECIPE / 'jvm.options'}", *vectors, *guarded]


def _read(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text("utf-8"))


def _assemble(file: Path, into: Path) -> None:
    recipe = _read(file)
    copied = {f"modules/{name}": module["artifacts"] for name, module in recipe["modules"].items()}
    unpacked = {f"plugins/{name}": coordinate for name, coordinate in recipe["plugins"].items()}
    if "agent" in recipe:
        copied["agent"] = recipe["agent"]
    fetch(into, recipe["lib"], copied, unpacked)
    for name, module in recipe["modules"].items():
        _describe(into / "modules" / name, module, recipe)
    for name in recipe.get("alone", ()):
        _without_dependencies(into / "plugins" / name / _DESCRIPTOR)
    (into / "bin").mkdir()  # the server asks for it


def _describe(folder: Path, module: dict[str, Any], recipe: dict[str, Any]) -> None:
    lines = {
        "name": folder.name,
        "description": folder.name,
        "version": recipe["version"],
        "opensearch.version": recipe["version"],
        "java.version": recipe["java"],
        "classname": module["classname"],
    }
    text = "".join(f"{key}={value}\n" for key, value in lines.items())
    (folder / _DESCRIPTOR).write_text(text, "utf-8")
    policy = _CONNECTS if module.get("connects") else module.get("policy")
    if policy:
        (folder / "plugin-security.policy").write_text(f"grant {{{policy}}};\n", "utf-8")


def _without_dependencies(descriptor: Path) -> None:
    lines = descriptor.read_text("utf-8").splitlines()
    kept = [line for line in lines if not line.startswith("extended.plugins")]
    descriptor.write_text("\n".join(kept) + "\n", "utf-8")


def _home(folder: Path, source: Path, plugins: Sequence[Path]) -> Path:
    """A home of its own: plugins differ from node to node. Files are linked, not copied, where that works."""
    home = folder / "home"
    shutil.rmtree(home, ignore_errors=True)
    try:
        shutil.copytree(source, home, copy_function=os.link)
    except (OSError, shutil.Error):
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(source, home)
    for plugin in plugins:
        with zipfile.ZipFile(plugin) as archive:
            archive.extractall(home / "plugins" / plugin.stem)
    return home


def _configure(folder: Path, port: int) -> None:
    for name in ("config", "data", "logs", "snapshots", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "log4j2.properties", folder / "config")
    settings = {
        "cluster.name": f"test-{port}",
        "node.name": f"test-{port}",
        "path.data": folder / "data",
        "path.logs": folder / "logs",
        "path.repo": folder / "snapshots",
        "network.host": "127.0.0.1",
        "http.port": port,
        "transport.port": "0",
        "discovery.type": "single-node",
        "cluster.max_shards_per_node": 5_000,
        # a full disk on a test machine must not block the indices
        "cluster.routing.allocation.disk.threshold_enabled": "false",
    }
    text = "".join(f"{key}: {value}\n" for key, value in settings.items())
    (folder / "config" / "opensearch.yml").write_text(text, "utf-8")
