package org.kitpick.opensearch.stats;

import java.util.List;
import org.opensearch.core.common.Strings;
import org.opensearch.rest.BaseRestHandler;
import org.opensearch.rest.RestHandler;
import org.opensearch.rest.RestRequest;
import org.opensearch.rest.action.RestActions.NodesResponseRestListener;
import org.opensearch.transport.client.node.NodeClient;

/** {@code GET /_plugins/_kitpick/stats} and {@code …/{node}/stats}. */
public final class RestStatsAction extends BaseRestHandler {

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
  protected RestChannelConsumer prepareRequest(RestRequest request, NodeClient client) {
    String[] nodes = Strings.splitStringByCommaToArray(request.param("nodeId"));
    StatsRequest wanted = new StatsRequest(nodes);
    wanted.timeout(request.param("timeout"));
    return channel ->
        client.execute(StatsAction.INSTANCE, wanted, new NodesResponseRestListener<>(channel));
  }
}
