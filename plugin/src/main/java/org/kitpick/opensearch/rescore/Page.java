package org.kitpick.opensearch.rescore;

import java.util.List;
import java.util.Map;
import org.kitpick.opensearch.guard.RescoreFailure;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.search.builder.SearchSourceBuilder;
import org.opensearch.search.pipeline.PipelineProcessingContext;

/**
 * What the user asked for, before the window made it more.
 *
 * @param window how many hits are to be rescored; null where no window processor says it
 * @param widened whether the request was changed to bring the whole window
 * @param away why it was not, where the service could not have ranked it; null: it could, or the
 *     search is none to rank
 * @param shown how much of each hit's source goes back to the user
 * @param query the query as the user wrote it; the search may have rewritten it since
 * @param ran the search that was widened: processors behind that one change it in place
 */
record Page(
    int from,
    int size,
    Integer window,
    boolean widened,
    RescoreFailure away,
    SourceView shown,
    Map<String, Object> query,
    SearchRequest ran) {

  /** Of a search that names no size, in OpenSearch as everywhere. */
  private static final int DEFAULT_SIZE = 10;

  private static final String ATTRIBUTE = "kitpick.page";

  /** What a request says by itself. */
  static Page of(SearchRequest request) {
    SearchSourceBuilder source = request.source();
    int from = source == null ? -1 : source.from();
    int size = source == null ? -1 : source.size();
    return new Page(
        from < 0 ? 0 : from,
        size < 0 ? DEFAULT_SIZE : size,
        null,
        false,
        null,
        SourceView.WHOLE,
        null,
        null);
  }

  /** How many hits are to be rescored, whatever the operator allows. */
  int window(Options options) {
    return window == null ? options.window() : window;
  }

  /** Behind the last hit of the page. */
  long end() {
    return (long) from + size;
  }

  /**
   * The search in all its forms: as it was handed over, and as it ran. OpenSearch 2 hands it over
   * as it was before any processor of the pipeline, which may have added filters.
   */
  List<SearchRequest> forms(SearchRequest request) {
    return ran == null || ran == request ? List.of(request) : List.of(request, ran);
  }

  /** What the window processor left, or what the request says. */
  static Page in(PipelineProcessingContext context, SearchRequest request) {
    return context.getAttribute(ATTRIBUTE) instanceof Page page ? page : of(request);
  }

  void leaveIn(PipelineProcessingContext context) {
    context.setAttribute(ATTRIBUTE, this);
  }
}
