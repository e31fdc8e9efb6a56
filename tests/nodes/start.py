"""Starts a node by hand, prints its address and waits; Ctrl-C or SIGTERM ends it.

Usage: python tests/nodes/start.py opensearch|elasticsearch [--port N] [--folder DIR] [--heap 512m]
                                   [--plugin ZIP]… [--setting key=value]…
"""

from __future__ import annotations

import argparse
import signal
import tempfile
from pathlib import Path

from elasticsearch_node import elasticsearch_node
from node_process import Node
from opensearch_node import opensearch_node


def main() -> None:
    """Reads the command line and runs the node until it is told to stop."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("engine", choices=["opensearch", "elasticsearch"])
    parser.add_argument("--port", type=int)
    parser.add_argument("--folder", type=Path, help="keeps the data; by default a temporary one")
    parser.add_argument("--heap", default="512m")
    parser.add_argument("--plugin", type=Path, action="append", default=[])
    parser.add_argument("--setting", action="append", default=[])
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="node-") as scratch:
        run(_node(options, options.folder or Path(scratch)))


def run(node: Node) -> None:
    """Starts the node and stays until it ends or this process is told to."""
    try:
        print(node.start().url, flush=True)
        if node.process is not None:
            node.process.wait()
    except KeyboardInterrupt:
        pass
    finally:
        node.stop()


def _node(options: argparse.Namespace, folder: Path) -> Node:
    if options.engine == "elasticsearch":
        return elasticsearch_node(folder, options.port, options.heap, options.setting)
    return opensearch_node(folder, options.plugin, options.port, options.heap, options.setting)


if __name__ == "__main__":
    main()
