package org.kitpick.opensearch.catalog;

import java.util.function.Supplier;
import org.kitpick.opensearch.rescore.NodeRuntime;
import org.opensearch.action.ActionRequest;
import org.opensearch.action.fieldcaps.FieldCapabilitiesRequest;
import org.opensearch.action.search.SearchAction;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.action.support.ActionFilter;
import org.opensearch.action.support.ActionFilterChain;
import org.opensearch.core.action.ActionListener;
import org.opensearch.core.action.ActionResponse;
import org.opensearch.index.reindex.AbstractBulkByScrollRequest;
import org.opensearch.tasks.Task;

/**
 * Hands searches whose query is {@code kitpick} to a {@link CatalogSearch}, and lets others pass.
 */
public final class CatalogSearchFilter implements ActionFilter {

  private final Supplier<NodeRuntime> runtime;

  /** The runtime is there once the node has started. */
  public CatalogSearchFilter(Supplier<NodeRuntime> runtime) {
    this.runtime = runtime;
  }

  /** After those that decide whether a user may search at all. */
  @Override
  public int order() {
    return 1_000;
  }

  /** Newer versions also know one with metadata, which asks this one; older ones know no other. */
  @Override
  @SuppressWarnings({"deprecation", "removal"})
  public <Request extends ActionRequest, Response extends ActionResponse> void apply(
      Task task,
      String action,
      Request request,
      ActionListener<Response> listener,
      ActionFilterChain<Request, Response> chain) {
    CatalogSearch own;
    try {
      own = own(task, action, request);
    } catch (RuntimeException e) {
      listener.onFailure(e);
      return;
    }
    if (own == null) {
      chain.proceed(task, action, request, listener);
      return;
    }
    own.start(
        ActionListener.wrap(
            report ->
                chain.proceed(
                    task,
                    action,
                    request,
                    ActionListener.wrap(
                        response -> listener.onResponse(reported(response, own, report)),
                        listener::onFailure)),
            listener::onFailure));
  }

  /** The search of a catalog that a request asks for; null where it asks for something else. */
  private CatalogSearch own(Task task, String action, ActionRequest request) {
    if (request instanceof AbstractBulkByScrollRequest<?> bulk) {
      Refusals.check(bulk);
    } else if (request instanceof FieldCapabilitiesRequest fields) {
      Refusals.check(fields);
    }
    return SearchAction.NAME.equals(action)
            && request instanceof SearchRequest search
            && search.source() != null
            && search.source().query() instanceof KitpickQueryBuilder query
        ? CatalogSearch.of(runtime.get(), search, query, task)
        : null;
  }

  @SuppressWarnings("unchecked") // the response of a search is a SearchResponse
  private static <Response extends ActionResponse> Response reported(
      Response response, CatalogSearch search, SearchReport report) {
    return (Response) report.on((SearchResponse) response, search.millis());
  }
}
