"""A real Elasticsearch node from Maven Central artifacts, with stand-ins for modules that are not there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from distribution import assembled
from jdk import INSTALL, find_jdk
from maven import fetch
from node_process import Node, free_port

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
RECIPE = HERE / "elasticsearch"
_NATIVE = "org.elasticsearch.nativeaccess,org.elasticsearch.foreign,org.elasticsearch.foreign.adapter"
_STAND_INS = "missing-modules"


def elasticsearch_node(
    folder: Path, port: int | None = None, heap: str = "512m", settings: Sequence[str] = ()
) -> Node:
    """A node that is ready to be started.

    Args:
        folder: for its data and log; data that is there already is kept.
        port: of HTTP; by default a free one.
        heap: as `-Xmx` takes it.
        settings: `key=value` of the node.
    """
    folder = folder.resolve()
    home = distribution()
    port = port or free_port()
    for name in ("data", "logs", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    command = [
        str(_jdk() / "bin" / "java"), f"-Xms{heap}", f"-Xmx{heap}", "-XX:+UseSerialGC",
        "-p", str(home / "lib"), "--add-modules=ALL-MODULE-PATH,jdk.incubator.vector,jdk.net,jdk.management",
        f"--enable-native-access={_NATIVE},org.apache.lucene.core",
        "-Djava.awt.headless=true", "-Dfile.encoding=UTF-8", f"-Djava.io.tmpdir={folder / 'tmp'}",
        "-Dio.netty.noUnsafe=true", "-Dio.netty.noKeySetOptimization=true",
        "-Dio.netty.recycler.maxCapacityPerThread=0", "-Dlog4j.shutdownHookEnabled=false",
        "-Dlog4j2.disable.jmx=true", f"-Des.path.home={home}", f"-Des.nativelibs.path={home / 'natives'}",
        "-Des.distribution.type=tar", "-Dorg.elasticsearch.nativeaccess.enableVectorLibrary=false",
        "-cp", str(home / "classes"), "StartNode",
        f"path.home={home}", f"path.data={folder / 'data'}", f"path.logs={folder / 'logs'}",
        f"cluster.name=test-{port}", f"node.name=test-{port}", "discovery.type=single-node",
        "network.host=127.0.0.1", f"http.port={port}", "transport.port=0",
        "cluster.max_shards_per_node=5000", "cluster.routing.allocation.disk.threshold_enabled=false",
        *settings,
    ]  # fmt: skip
    return Node(command, folder, port)


def distribution() -> Path:
    """The folder that holds `lib`, `modules` and what was compiled, fetched if it is not in the cache."""
    sources = [*RECIPE.rglob("*.java"), RECIPE / "artifacts.toml", HERE / "log4j2.properties"]
    return assembled("elasticsearch", [*sources, Path(__file__), HERE / "maven.py"], _assemble)


def _jdk() -> Path:
    home = find_jdk()
    if home is None:
        raise RuntimeError(INSTALL)
    return home


def _assemble(into: Path) -> None:
    recipe = tomllib.loads((RECIPE / "artifacts.toml").read_text("utf-8"))
    fetch(into, recipe["lib"], {}, {})
    _lay_out_netty(into, recipe["version"])
    _compile("StartNode.java", into / "classes", into / "lib", "org.elasticsearch.server")
    stand_ins = into / "modules" / _STAND_INS
    modules = "org.elasticsearch.server,org.apache.lucene.analysis.common"
    _compile("missing/MissingModulesPlugin.java", into / "stand-ins", into / "lib", modules)
    stand_ins.mkdir(parents=True)
    _run("jar", "cf", str(stand_ins / "plugin.jar"), "-C", str(into / "stand-ins"), ".")
    (stand_ins / "plugin-descriptor.properties").write_text(_descriptor(recipe), "utf-8")
    _configure(into)


def _lay_out_netty(into: Path, version: str) -> None:
    """As in the official archive: what the transport brings of its own stays out of `lib`."""
    netty = into / "modules" / "transport-netty4"
    netty.mkdir(parents=True)
    for pattern in ("netty-*.jar", "transport-netty4-*.jar", "elasticsearch-ssl-config-*.jar"):
        for jar in (into / "lib").glob(pattern):
            jar.rename(netty / jar.name)
    inside = "META-INF/es-plugins/transport-netty4"
    _run("jar", "xf", f"transport-netty4-{version}.jar", inside, folder=netty)
    for file in (netty / inside).iterdir():
        file.rename(netty / file.name)


def _compile(source: str, into: Path, lib: Path, modules: str) -> None:
    options = ["-p", str(lib), f"--add-modules={modules}", "-d", str(into)]
    _run("javac", *options, str(RECIPE / source))


def _descriptor(recipe: dict[str, str]) -> str:
    lines = {
        "name": _STAND_INS,
        "description": "pieces of modules that are not on Maven Central",
        "version": recipe["version"],
        "elasticsearch.version": recipe["version"],
        "java.version": recipe["java"],
        "classname": "missing.MissingModulesPlugin",
    }
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def _configure(into: Path) -> None:
    for name in ("config", "plugins", "natives"):
        (into / name).mkdir()
    (into / "config" / "elasticsearch.yml").touch()
    (into / "config" / "log4j2.properties").write_bytes((HERE / "log4j2.properties").read_bytes())
    libraries = [*Path("/usr/lib").glob("*-linux-gnu/libzstd.so.1"), *Path("/usr/lib64").glob("libzstd.so.1")]
    if libraries:  # not on Maven Central; without it an index with `best_compression` cannot be written
        (into / "natives" / "libzstd.so").symlink_to(libraries[0])


def _run(tool: str, *arguments: str, folder: Path | None = None) -> None:
    subprocess.run([str(_jdk() / "bin" / tool), *arguments], check=True, cwd=folder)
