package org.toolrank.opensearch.rescore;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.opensearch.OpenSearchParseException;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.ingest.ConfigurationUtils;
import org.opensearch.search.builder.SearchSourceBuilder;
import org.opensearch.search.fetch.StoredFieldsContext;
import org.opensearch.search.fetch.subphase.FetchSourceContext;
import org.opensearch.search.pipeline.AbstractProcessor;
import org.opensearch.search.pipeline.PipelineProcessingContext;
import org.opensearch.search.pipeline.Processor;
import org.opensearch.search.pipeline.SearchRequestProcessor;
import org.toolrank.opensearch.dsl.Dsl;

/**
 * Request processor {@code toolrank_window}: the user writes {@code size: 5}, the search brings the
 * whole window, and the response processor cuts the page out of it.
 */
public final class WindowProcessor extends AbstractProcessor implements SearchRequestProcessor {

  /** Name in a pipeline. */
  public static final String TYPE = "toolrank_window";

  private final int window;
  private final List<String> fields;

  private WindowProcessor(
      String tag, String description, boolean ignoreFailure, int window, List<String> fields) {
    super(tag, description, ignoreFailure);
    this.window = window;
    this.fields = fields;
  }

  /** Makes it from {@code window} and {@code fields}: what the rescorer reads of a hit. */
  public static Processor.Factory<SearchRequestProcessor> factory() {
    return (factories, tag, description, ignoreFailure, config, context) -> {
      int window = ConfigurationUtils.readIntProperty(TYPE, tag, config, "window", 50);
      if (window < 1 || window > Options.MAX_WINDOW) {
        throw new OpenSearchParseException("[window] is 1 to {}", Options.MAX_WINDOW);
      }
      List<String> fields = ConfigurationUtils.readOptionalList(TYPE, tag, config, "fields");
      return new WindowProcessor(
          tag,
          description,
          ignoreFailure,
          window,
          fields == null ? List.of() : List.copyOf(fields));
    };
  }

  @Override
  public String getType() {
    return TYPE;
  }

  @Override
  public SearchRequest processRequest(SearchRequest request) {
    throw new UnsupportedOperationException(TYPE + " needs the pipeline's context");
  }

  @Override
  public SearchRequest processRequest(SearchRequest request, PipelineProcessingContext context) {
    if (request.source() == null) {
      request.source(new SearchSourceBuilder());
    }
    SearchSourceBuilder source = request.source();
    Page asked = Page.of(request);
    Integer said = RequestExt.optionsOf(request).window();
    int wanted = said == null ? window : said;
    Map<String, Object> query = Dsl.asMap(source.query());
    if (Skip.of(request, asked, wanted) != null) {
      new Page(asked.from(), asked.size(), wanted, false, List.of(), query).leaveIn(context);
      return request;
    }
    source.from(0).size(Math.max(wanted, asked.from() + asked.size()));
    new Page(asked.from(), asked.size(), wanted, true, addMissingFields(source), query)
        .leaveIn(context);
    return request;
  }

  /**
   * Asks for what a restricted {@code _source} may hold back; an unrestricted one brings
   * everything. Where the user wants no stored fields at all, the search engine refuses every other
   * field.
   */
  private List<String> addMissingFields(SearchSourceBuilder source) {
    StoredFieldsContext stored = source.storedFields();
    if (stored == null ? bringsWholeSource(source) : !stored.fetchFields()) {
      return List.of();
    }
    List<String> asked = new ArrayList<>();
    if (source.fetchFields() != null) {
      source.fetchFields().stream().map(each -> each.field).forEach(asked::add);
    }
    List<String> added = fields.stream().filter(field -> !asked.contains(field)).toList();
    for (String field : added) {
      source.fetchField(field);
    }
    return added;
  }

  /** Script fields alone switch it off. */
  private static boolean bringsWholeSource(SearchSourceBuilder source) {
    FetchSourceContext fetch = source.fetchSource();
    if (fetch == null) {
      return source.scriptFields() == null || source.scriptFields().isEmpty();
    }
    return fetch.fetchSource() && fetch.includes().length == 0 && fetch.excludes().length == 0;
  }
}
