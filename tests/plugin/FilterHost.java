package org.opensearch.filtering;

import java.util.Map;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.index.query.QueryBuilders;
import org.opensearch.ingest.ConfigurationUtils;
import org.opensearch.plugins.Plugin;
import org.opensearch.plugins.SearchPipelinePlugin;
import org.opensearch.search.pipeline.AbstractProcessor;
import org.opensearch.search.pipeline.Processor;
import org.opensearch.search.pipeline.SearchRequestProcessor;

/**
 * Stands in for the processor `filter_query` of OpenSearch 2, which is not on Maven Central: it changes the search in
 * place, as that does. {@code {"filter_term": {"field": "tenant", "value": "acme"}}}.
 */
public final class FilterHost extends Plugin implements SearchPipelinePlugin {
  private static final String TYPE = "filter_term";

  @Override
  public Map<String, Processor.Factory<SearchRequestProcessor>> getRequestProcessors(Parameters parameters) {
    return Map.of(
        TYPE,
        (factories, tag, description, ignoreFailure, config, context) ->
            new FilterTerm(
                tag,
                description,
                ignoreFailure,
                ConfigurationUtils.readStringProperty(TYPE, tag, config, "field"),
                ConfigurationUtils.readStringProperty(TYPE, tag, config, "value")));
  }

  private static final class FilterTerm extends AbstractProcessor implements SearchRequestProcessor {
    private final String field;
    private final String value;

    FilterTerm(String tag, String description, boolean ignoreFailure, String field, String value) {
      super(tag, description, ignoreFailure);
      this.field = field;
      this.value = value;
    }

    @Override
    public String getType() {
      return TYPE;
    }

    @Override
    public SearchRequest processRequest(SearchRequest request) {
      request
          .source()
          .query(
              QueryBuilders.boolQuery()
                  .must(request.source().query())
                  .filter(QueryBuilders.termQuery(field, value)));
      return request;
    }
  }
}
