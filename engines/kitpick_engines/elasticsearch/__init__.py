"""The Elasticsearch engine: the extra `elasticsearch`."""

from kitpick_engines.elasticsearch.client import ElasticsearchDialect, open_elasticsearch

__all__ = ["ElasticsearchDialect", "open_elasticsearch"]
