"""The OpenSearch engine: the extra `opensearch`."""

from kitpick_engines.opensearch.client import OpenSearchDialect, open_opensearch

__all__ = ["OpenSearchDialect", "open_opensearch"]
