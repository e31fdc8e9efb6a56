"""From an address to an engine, through opensearch-py."""

from __future__ import annotations

from typing import Any

from toolrank_engines.errors import EngineUnavailable, MissingExtra
from toolrank_engines.opensearch.dialect import OpenSearchDialect
from toolrank_engines.remote.address import Address
from toolrank_engines.remote.engine import RemoteEngine
from toolrank_engines.remote.server import Server, Unreachable

_CONNECTIONS = 16


def open_opensearch(address: Address) -> RemoteEngine:
    """The engine at an address. Nothing is asked of the server yet.

    Raises:
        MissingExtra: opensearch-py, or for AWS botocore, is not installed.
        EngineUnavailable: AWS credentials were asked for and there are none.
    """
    settings = address.settings
    server = Server(OpenSearchCarrier(address), address.url, settings.timeout, settings.patience)
    return RemoteEngine(address, server, OpenSearchDialect(settings.vectors, settings.graph))


class OpenSearchCarrier:
    """Carries requests by opensearch-py, to one host after the other while some are away."""

    def __init__(self, address: Address) -> None:
        try:
            from opensearchpy import OpenSearch
        except ImportError as error:
            raise MissingExtra("opensearch", "a catalog in OpenSearch") from error
        self._client = OpenSearch(
            address.nodes,
            http_auth=_authentication(address),
            verify_certs=address.settings.verify,
            ssl_show_warn=False,
            ca_certs=address.settings.ca or None,
            maxsize=_CONNECTIONS,
            http_compress=False,
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
        from opensearchpy.exceptions import OpenSearchException, TransportError

        headers = {"content-type": content_type}
        try:
            answer = self._client.transport.perform_request(
                method, path, body=body, headers=headers, timeout=timeout
            )
        except TransportError as error:
            if isinstance(error.status_code, int):
                return error.status_code, error.info
            raise Unreachable(type(error.info).__name__) from error
        except OpenSearchException as error:
            raise Unreachable(type(error).__name__) from error
        return 200, answer

    def close(self) -> None:
        """Releases connections."""
        self._client.close()


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
