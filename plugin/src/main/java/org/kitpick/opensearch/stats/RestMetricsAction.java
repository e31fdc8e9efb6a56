package org.kitpick.opensearch.stats;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.kitpick.opensearch.server.ServerHandler;
import org.opensearch.core.rest.RestStatus;
import org.opensearch.rest.BytesRestResponse;
import org.opensearch.rest.RestHandler;
import org.opensearch.rest.RestRequest;
import org.opensearch.rest.RestResponse;
import org.opensearch.rest.action.RestResponseListener;

/** {@code GET /_plugins/_kitpick/metrics}: the statistics of all nodes, for Prometheus. */
public final class RestMetricsAction extends ServerHandler {

  @Override
  public String getName() {
    return "kitpick_metrics_action";
  }

  @Override
  public List<RestHandler.Route> routes() {
    return List.of(new RestHandler.Route(RestRequest.Method.GET, "/_plugins/_kitpick/metrics"));
  }

  @Override
  protected RestChannelConsumer prepare(RestRequest request, Actions actions) {
    return channel ->
        actions.execute(
            StatsResponse.ACTION,
            new StatsRequest(),
            new RestResponseListener<>(channel) {
              @Override
              public RestResponse buildResponse(StatsResponse response) {
                Map<String, Map<String, Object>> nodes = new TreeMap<>();
                response
                    .getNodes()
                    .forEach(node -> nodes.put(node.getNode().getName(), node.values()));
                return new BytesRestResponse(
                    RestStatus.OK, PrometheusText.MEDIA_TYPE, PrometheusText.of(nodes));
              }
            });
  }
}
