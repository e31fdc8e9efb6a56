"""The OpenSearch engine, through opensearch-py.

Its vector field is that of the k-NN plugin. The default, Lucene's HNSW graph, needs no native library.
"""

from __future__ import annotations

from typing import Any, Literal

from kitpick_engines.contract import Vector
from kitpick_engines.errors import EngineUnavailable
from kitpick_engines.remote.address import Address
from kitpick_engines.remote.bounded_pool import bounded
from kitpick_engines.remote.engine import RemoteEngine
from kitpick_engines.remote.queries import BEST_FIRST
from kitpick_engines.remote.server import Json, SearchServer, unreachable
from kitpick_foundation.errors import MissingExtra
from kitpick_foundation.forks import OfThisProcess

_GRAPH = {"m": 16, "ef_construction": 128}


class OpenSearchDialect:
    """The dialect of OpenSearch."""

    search_pipelines = True

    def __init__(self, vectors: Literal["hnsw", "exact"], graph: Literal["lucene", "faiss"]) -> None:
        self._exact = vectors == "exact"
        self._graph = graph

    def vector_field(self, dimensions: int) -> Json:
        """A `knn_vector` compared by inner product, which takes residuals and zero vectors too."""
        method = {"name": "hnsw", "engine": self._graph, "space_type": "innerproduct", "parameters": _GRAPH}
        return {"type": "knn_vector", "dimension": dimensions, "method": method}

    def vector_settings(self) -> Json:
        """`knn`, and no vectors read back into the source: the field is left out of it."""
        return {"knn": True}

    def nearest(self, vector: Vector, k: int, shown: Json) -> Json:
        """A search of the graph with the filter inside; or a script over everything that is visible."""
        values = vector.tolist()
        if self._exact:
            script = {
                "lang": "knn",
                "source": "knn_score",
                "params": {"field": "vector", "query_value": values, "space_type": "innerproduct"},
            }
            query: Json = {"script_score": {"query": shown, "script": script}}
        else:
            query = {"knn": {"vector": {"vector": values, "k": k, "filter": shown}}}
        return {"query": query, "sort": BEST_FIRST}


_CONNECTIONS = 16


def open_opensearch(address: Address) -> RemoteEngine:
    """The engine at an address. Nothing is asked of the server yet.

    Raises:
        MissingExtra: opensearch-py, or for AWS botocore, is not installed.
        EngineUnavailable: AWS credentials were asked for and there are none.
    """
    settings = address.settings
    server = SearchServer(OpenSearchCarrier(address), address.url, settings.timeout, settings.patience)
    return RemoteEngine(address, server, OpenSearchDialect(settings.vectors, settings.graph))


class OpenSearchCarrier:
    """Sends requests through opensearch-py, to the next host if one cannot be reached."""

    def __init__(self, address: Address) -> None:
        try:
            from opensearchpy import OpenSearch, Urllib3HttpConnection
        except ImportError as error:
            raise MissingExtra("opensearch", "a catalog in OpenSearch") from error
        options = {
            "http_auth": _authentication(address),
            "verify_certs": address.settings.verify,
            "ssl_show_warn": False,
            "ca_certs": address.settings.ca or None,
            "maxsize": _CONNECTIONS,
            "http_compress": False,
            "max_retries": max(len(address.nodes) - 1, 0),
            "retry_on_status": (),
            "connection_class": bounded(Urllib3HttpConnection),
        }
        self._client = OfThisProcess(lambda: OpenSearch(address.nodes, **options))
        self._client.get()  # says now what is wrong with the address

    def send(
        self, method: str, path: str, body: bytes | None, content_type: str, timeout: float
    ) -> tuple[int, Any]:
        """Status and decoded JSON of any answer."""
        from opensearchpy.exceptions import OpenSearchException, TransportError

        headers = {"content-type": content_type}
        try:
            answer = self._client.get().transport.perform_request(
                method, path, body=body, headers=headers, timeout=timeout
            )
        except TransportError as error:
            if isinstance(error.status_code, int):
                return error.status_code, error.info
            raise unreachable(error) from error
        except OpenSearchException as error:
            raise unreachable(error) from error
        return 200, answer

    def close(self) -> None:
        """Releases connections."""
        self._client.get().close()


def _authentication(address: Address) -> Any:  # noqa: ANN401 - a pair or a signer of opensearch-py
    if address.settings.auth == "sigv4":
        return _signer(address)
    credentials = address.credentials
    return (credentials.user, credentials.password) if credentials.user else None


def _signer(address: Address) -> Any:  # noqa: ANN401 - a signer of opensearch-py
    try:
        from botocore.session import Session
        from opensearchpy import Urllib3AWSV4SignerAuth
    except ImportError as error:
        raise MissingExtra("aws", "signing requests for AWS") from error
    session = Session()
    found = session.get_credentials()
    region = address.settings.region or session.get_config_variable("region")
    if found is None or not region:
        raise EngineUnavailable(
            f"{address.url}: no AWS credentials or no region: set them as for the AWS CLI"
        )
    return Urllib3AWSV4SignerAuth(found, region, address.settings.service)
