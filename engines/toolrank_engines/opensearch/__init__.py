"""The OpenSearch engine: the extra `opensearch`."""

from toolrank_engines.opensearch.connecting import open_opensearch
from toolrank_engines.opensearch.dialect import OpenSearchDialect

__all__ = ["OpenSearchDialect", "open_opensearch"]
