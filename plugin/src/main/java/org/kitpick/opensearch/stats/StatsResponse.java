package org.kitpick.opensearch.stats;

import java.io.IOException;
import java.util.List;
import org.opensearch.action.ActionType;
import org.opensearch.action.FailedNodeException;
import org.opensearch.action.support.nodes.BaseNodesResponse;
import org.opensearch.cluster.ClusterName;
import org.opensearch.core.common.io.stream.StreamInput;
import org.opensearch.core.common.io.stream.StreamOutput;
import org.opensearch.core.xcontent.ToXContentFragment;
import org.opensearch.core.xcontent.XContentBuilder;

/** What the nodes counted, by node id. */
public final class StatsResponse extends BaseNodesResponse<NodeStats>
    implements ToXContentFragment {

  /**
   * The action by which nodes ask each other, under {@code cluster:monitor} with the other
   * statistics. Its name is what a role must be allowed to see them.
   */
  public static final ActionType<StatsResponse> ACTION =
      new ActionType<>("cluster:monitor/kitpick/stats", StatsResponse::new);

  /** Of a cluster. */
  public StatsResponse(
      ClusterName cluster, List<NodeStats> nodes, List<FailedNodeException> failures) {
    super(cluster, nodes, failures);
  }

  /** From another node. */
  public StatsResponse(StreamInput in) throws IOException {
    super(in);
  }

  @Override
  protected List<NodeStats> readNodesFrom(StreamInput in) throws IOException {
    return in.readList(NodeStats::new);
  }

  @Override
  protected void writeNodesTo(StreamOutput out, List<NodeStats> nodes) throws IOException {
    out.writeList(nodes);
  }

  @Override
  public XContentBuilder toXContent(XContentBuilder json, Params params) throws IOException {
    json.startObject("nodes");
    for (NodeStats node : getNodes()) {
      json.startObject(node.getNode().getId()).field("name", node.getNode().getName());
      json.mapContents(node.values());
      json.endObject();
    }
    return json.endObject();
  }
}
