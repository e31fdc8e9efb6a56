package org.kitpick.opensearch.stats;

import java.io.IOException;
import java.util.List;
import org.kitpick.opensearch.guard.Rescorer;
import org.kitpick.opensearch.server.NodeRequest;
import org.opensearch.action.FailedNodeException;
import org.opensearch.action.support.ActionFilters;
import org.opensearch.action.support.nodes.TransportNodesAction;
import org.opensearch.cluster.service.ClusterService;
import org.opensearch.common.inject.Inject;
import org.opensearch.core.common.io.stream.StreamInput;
import org.opensearch.threadpool.ThreadPool;
import org.opensearch.transport.TransportService;

/** Collects the statistics of all nodes: breaker and counters are each node's own. */
public final class TransportStatsAction
    extends TransportNodesAction<StatsRequest, StatsResponse, NodeRequest, NodeStats> {

  private final Rescorer rescorer;

  /** Called by the node. */
  @Inject
  public TransportStatsAction(
      ThreadPool threadPool,
      ClusterService clusterService,
      TransportService transportService,
      ActionFilters actionFilters,
      Rescorer rescorer) {
    super(
        StatsResponse.ACTION.name(),
        threadPool,
        clusterService,
        transportService,
        actionFilters,
        StatsRequest::new,
        NodeRequest::new,
        ThreadPool.Names.MANAGEMENT,
        NodeStats.class);
    this.rescorer = rescorer;
  }

  @Override
  protected StatsResponse newResponse(
      StatsRequest request, List<NodeStats> nodes, List<FailedNodeException> failures) {
    return new StatsResponse(clusterService.getClusterName(), nodes, failures);
  }

  @Override
  protected NodeRequest newNodeRequest(StatsRequest request) {
    return new NodeRequest();
  }

  @Override
  protected NodeStats newNodeResponse(StreamInput in) throws IOException {
    return new NodeStats(in);
  }

  @Override
  protected NodeStats nodeOperation(NodeRequest request) {
    return new NodeStats(clusterService.localNode(), rescorer.snapshot());
  }
}
