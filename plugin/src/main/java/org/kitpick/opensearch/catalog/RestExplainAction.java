package org.kitpick.opensearch.catalog;

import java.util.List;
import org.kitpick.opensearch.rescore.RequestExt;
import org.kitpick.opensearch.server.ServerHandler;
import org.opensearch.action.search.SearchAction;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.rest.RestHandler;
import org.opensearch.rest.RestRequest;
import org.opensearch.rest.action.RestStatusToXContentListener;
import org.opensearch.search.builder.SearchSourceBuilder;

/**
 * {@code GET /_plugins/_kitpick/explain?index=tools&text=…}: a search with the {@code kitpick}
 * query whose report says what every stage of the rescorer did. It is that search and nothing else:
 * the same rights, limits and deadline.
 */
public final class RestExplainAction extends ServerHandler {

  @Override
  public String getName() {
    return "kitpick_explain_action";
  }

  @Override
  public List<RestHandler.Route> routes() {
    return List.of(new RestHandler.Route(RestRequest.Method.GET, "/_plugins/_kitpick/explain"));
  }

  @Override
  protected RestChannelConsumer prepare(RestRequest request, Actions actions) {
    String index = request.param("index", "");
    String text = request.param("text", "");
    if (index.isBlank() || text.isBlank()) {
      throw new IllegalArgumentException(
          "explain needs [index], the name of a catalog, and [text], which says what is wanted");
    }
    String[] principals = request.paramAsStringArray("principals", new String[0]);
    SearchSourceBuilder source =
        new SearchSourceBuilder()
            .query(
                new KitpickQueryBuilder(
                    text, null, request.param("tenant", ""), List.of(principals)))
            .size(request.paramAsInt("size", CatalogSearch.DEFAULT_SIZE))
            .fetchSource(new String[] {"id", "api", "tool"}, null)
            .ext(List.of(RequestExt.tracing(request.param("profile"))));
    SearchRequest search = new SearchRequest(index).source(source);
    return channel ->
        actions.execute(SearchAction.INSTANCE, search, new RestStatusToXContentListener<>(channel));
  }
}
