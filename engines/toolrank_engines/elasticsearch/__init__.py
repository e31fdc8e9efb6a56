"""The Elasticsearch engine: the extra `elasticsearch`."""

from toolrank_engines.elasticsearch.connecting import open_elasticsearch
from toolrank_engines.elasticsearch.dialect import ElasticsearchDialect

__all__ = ["ElasticsearchDialect", "open_elasticsearch"]
