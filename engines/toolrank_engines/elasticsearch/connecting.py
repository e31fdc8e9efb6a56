"""From an address to an engine, through the client library of Elasticsearch 8 or 9."""

from __future__ import annotations

from typing import Any

from toolrank_engines.elasticsearch.dialect import ElasticsearchDialect
from toolrank_engines.errors import MissingExtra
from toolrank_engines.remote.address import Address
from toolrank_engines.remote.engine import RemoteEngine
from toolrank_engines.remote.server import Server, Unreachable

_CONNECTIONS = 16


def open_elasticsearch(address: Address) -> RemoteEngine:
    """The engine at an address. Nothing is asked of the server yet.

    Raises:
        MissingExtra: the client library is not installed.
    """
    settings = address.settings
    server = Server(ElasticsearchCarrier(address), address.url, settings.timeout, settings.patience)
    return RemoteEngine(address, server, ElasticsearchDialect(settings.vectors))


class ElasticsearchCarrier:
    """Carries requests by the `elasticsearch` library, to one host after the other while some are away.

    The content types are plain JSON, without the library's own version: any library speaks to any server.
    """

    def __init__(self, address: Address) -> None:
        try:
            from elasticsearch import Elasticsearch
        except ImportError as error:
            raise MissingExtra("elasticsearch", "a catalog in Elasticsearch") from error
        tls: dict[str, Any] = {"verify_certs": address.settings.verify, "ssl_show_warn": False}
        if address.settings.ca:
            tls["ca_certs"] = address.settings.ca
        self._client = Elasticsearch(
            address.nodes,
            **_authentication(address),
            **(tls if address.tls else {}),
            connections_per_node=_CONNECTIONS,
            max_retries=max(len(address.nodes) - 1, 0),
            retry_on_status=(),
        )

    def send(
        self, method: str, path: str, body: bytes | None, content_type: str, timeout: float
    ) -> tuple[int, Any]:
        """Status and decoded JSON of any answer.

        Raises:
            Unreachable: there was no answer.
        """
        from elasticsearch import ApiError, TransportError

        headers = {"accept": "application/json"}
        if body is not None:
            headers["content-type"] = content_type
        client = self._client.options(request_timeout=timeout)
        try:
            answer = client.perform_request(method, path, headers=headers, body=body)
        except ApiError as error:
            return error.meta.status, error.body
        except TransportError as error:
            raise Unreachable(type(error).__name__) from error
        return answer.meta.status, answer.body

    def close(self) -> None:
        """Releases connections."""
        self._client.close()


def _authentication(address: Address) -> dict[str, Any]:
    credentials = address.credentials
    if credentials.api_key:
        return {"api_key": credentials.api_key}
    return {"basic_auth": (credentials.user, credentials.password)} if credentials.user else {}
