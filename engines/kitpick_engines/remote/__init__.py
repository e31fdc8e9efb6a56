"""The common part of the OpenSearch and Elasticsearch engines: everything but client and vector query."""
