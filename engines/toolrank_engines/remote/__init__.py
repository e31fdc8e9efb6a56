"""What OpenSearch and Elasticsearch have in common: all but client, vector field and its query."""
