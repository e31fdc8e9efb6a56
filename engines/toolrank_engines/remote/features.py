"""What a cluster is and can do, found out by asking it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from toolrank_engines.remote.server import Json, Refused, Server

_PLUGINS = {
    "opensearch-knn": "vector search",
    "opensearch-neural-search": "neural-search: hybrid queries and rerank pipelines for your own searches",
    "opensearch-ml": "ml-commons: connectors, where no plugin can be installed",
    "opensearch-security": "users, permissions and TLS",
    "toolrank": "reranking inside the search: the `toolrank` response processor",
}
_NEEDED = "opensearch-knn"


class Features(msgspec.Struct, frozen=True):
    """What was found."""

    distribution: str
    version: str
    nodes: int
    health: str
    """green, yellow or red; yellow where replicas have no node to lie on."""
    plugins: frozenset[str]

    def lines(self) -> Iterator[tuple[str, str, bool | None]]:
        """Name, finding, and whether it is well; None where it is only told."""
        yield "server", f"{self.distribution} {self.version}, {self.nodes} nodes", True
        yield "health", self.health, self.health != "red"
        if self.distribution != "opensearch":
            return
        for plugin, purpose in _PLUGINS.items():
            found = plugin in self.plugins
            missing = False if plugin == _NEEDED else None
            yield plugin, f"{'found' if found else 'not found'}: {purpose}", found or missing


def detect(server: Server) -> Features:
    """Asks the cluster.

    Raises:
        EngineUnavailable: it cannot be reached, or refuses the user.
    """
    about = server.call("GET", "/", patience=0)["version"]
    health = server.call("GET", "/_cluster/health", patience=0)
    distribution = str(about.get("distribution", "elasticsearch"))
    return Features(
        distribution,
        str(about["number"]),
        int(health["number_of_nodes"]),
        str(health["status"]),
        _plugins(server),
    )


def _plugins(server: Server) -> frozenset[str]:
    """Names of the plugins on any node; none where the user may not ask, or the service does not tell."""
    try:
        nodes: Json = server.call("GET", "/_nodes/plugins", patience=0)["nodes"]
    except Refused:
        return frozenset()
    return frozenset(plugin["name"] for node in nodes.values() for plugin in node["plugins"])
