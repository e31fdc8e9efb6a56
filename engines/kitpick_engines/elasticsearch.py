"""The Elasticsearch engine, through the client library of Elasticsearch 8 or 9.

Its vector field is not quantised: the hits are scored exactly anyway.
"""

from __future__ import annotations

from typing import Any, Literal

from kitpick_engines.contract import Vector
from kitpick_engines.remote.address import Address
from kitpick_engines.remote.bounded_pool import bounded
from kitpick_engines.remote.engine import RemoteEngine
from kitpick_engines.remote.queries import BEST_FIRST, MAX_WINDOW
from kitpick_engines.remote.server import Json, SearchServer, unreachable
from kitpick_foundation.errors import MissingExtra
from kitpick_foundation.forks import OfThisProcess

_GRAPH = {"type": "hnsw", "m": 16, "ef_construction": 128}


class ElasticsearchDialect:
    """The dialect of Elasticsearch. `exact` decides how a new index is built."""

    search_pipelines = False

    def __init__(self, vectors: Literal["hnsw", "exact"]) -> None:
        self._options: Json = {"type": "flat"} if vectors == "exact" else _GRAPH

    def vector_field(self, dimensions: int) -> Json:
        """A `dense_vector` compared by inner product, which takes residuals and zero vectors too."""
        return {
            "type": "dense_vector",
            "dims": dimensions,
            "index": True,
            "similarity": "max_inner_product",
            "index_options": self._options,
        }

    def vector_settings(self) -> Json:
        """No settings are needed."""
        return {}

    def nearest(self, vector: Vector, k: int, shown: Json) -> Json:
        """A search of the graph, with the filter inside."""
        considered = min(2 * k, MAX_WINDOW)
        knn = {
            "field": "vector",
            "query_vector": vector.tolist(),
            "k": k,
            "num_candidates": considered,
            "filter": shown,
        }
        return {"knn": knn, "sort": BEST_FIRST}


_CONNECTIONS = 16


def open_elasticsearch(address: Address) -> RemoteEngine:
    """The engine at an address. Nothing is asked of the server yet.

    Raises:
        MissingExtra: the client library is not installed.
    """
    settings = address.settings
    server = SearchServer(ElasticsearchCarrier(address), address.url, settings.timeout, settings.patience)
    return RemoteEngine(address, server, ElasticsearchDialect(settings.vectors))


class ElasticsearchCarrier:
    """Sends requests through the `elasticsearch` library, to the next host if one cannot be reached.

    The content types are plain JSON, without the library's own version: any library speaks to any server.
    """

    def __init__(self, address: Address) -> None:
        try:
            from elastic_transport import Urllib3HttpNode
            from elasticsearch import Elasticsearch
        except ImportError as error:
            raise MissingExtra("elasticsearch", "a catalog in Elasticsearch") from error
        tls: dict[str, Any] = {"verify_certs": address.settings.verify, "ssl_show_warn": False}
        if address.settings.ca:
            tls["ca_certs"] = address.settings.ca
        options = {
            **_authentication(address),
            **(tls if address.tls else {}),
            "connections_per_node": _CONNECTIONS,
            "max_retries": max(len(address.nodes) - 1, 0),
            "retry_on_status": (),
            "node_class": bounded(Urllib3HttpNode),
        }
        self._client = OfThisProcess(lambda: Elasticsearch(address.nodes, **options))
        self._client.get()  # says now what is wrong with the address

    def send(
        self, method: str, path: str, body: bytes | None, content_type: str, timeout: float
    ) -> tuple[int, Any]:
        """Status and decoded JSON of any answer."""
        from elasticsearch import ApiError, TransportError

        headers = {"accept": "application/json"}
        if body is not None:
            headers["content-type"] = content_type
        client = self._client.get().options(request_timeout=timeout)
        try:
            answer = client.perform_request(method, path, headers=headers, body=body)
        except ApiError as error:
            return error.meta.status, error.body
        except TransportError as error:
            raise unreachable(error) from error
        return answer.meta.status, answer.body

    def close(self) -> None:
        """Releases connections."""
        self._client.get().close()


def _authentication(address: Address) -> dict[str, Any]:
    credentials = address.credentials
    if credentials.api_key:
        return {"api_key": credentials.api_key}
    return {"basic_auth": (credentials.user, credentials.password)} if credentials.user else {}
