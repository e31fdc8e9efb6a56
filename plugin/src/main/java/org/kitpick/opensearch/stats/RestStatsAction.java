package org.kitpick.opensearch.stats;

import java.util.List;
import org.kitpick.opensearch.server.ServerHandler;
import org.opensearch.core.common.Strings;
import org.opensearch.rest.RestHandler;
import org.opensearch.rest.RestRequest;
import org.opensearch.rest.action.RestActions.NodesResponseRestListener;

/** {@code GET /_plugins/_kitpick/stats} and {@code …/{node}/stats}. */
public final class RestStatsAction extends ServerHandler {

  @Override
  public String getName() {
    return "kitpick_stats_action";
  }

  @Override
  public List<RestHandler.Route> routes() {
    return List.of(
        new RestHandler.Route(RestRequest.Method.GET, "/_plugins/_kitpick/stats"),
        new RestHandler.Route(RestRequest.Method.GET, "/_plugins/_kitpick/{nodeId}/stats"));
  }

  @Override
  protected RestChannelConsumer prepare(RestRequest request, Actions actions) {
    String[] nodes = Strings.splitStringByCommaToArray(request.param("nodeId"));
    StatsRequest wanted = new StatsRequest(nodes);
    wanted.timeout(request.param("timeout"));
    return channel ->
        actions.execute(StatsResponse.ACTION, wanted, new NodesResponseRestListener<>(channel));
  }
}
