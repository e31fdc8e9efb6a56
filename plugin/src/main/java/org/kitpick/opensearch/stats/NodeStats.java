package org.kitpick.opensearch.stats;

import java.io.IOException;
import java.util.Map;
import org.opensearch.action.support.nodes.BaseNodeResponse;
import org.opensearch.cluster.node.DiscoveryNode;
import org.opensearch.core.common.io.stream.StreamInput;
import org.opensearch.core.common.io.stream.StreamOutput;

/** What one node counted. */
public final class NodeStats extends BaseNodeResponse {

  private final Map<String, Object> values;

  /** Of this node. */
  public NodeStats(DiscoveryNode node, Map<String, Object> values) {
    super(node);
    this.values = values;
  }

  /** From another node. */
  public NodeStats(StreamInput in) throws IOException {
    super(in);
    this.values = in.readMap();
  }

  /** By name. */
  public Map<String, Object> values() {
    return values;
  }

  @Override
  public void writeTo(StreamOutput out) throws IOException {
    super.writeTo(out);
    out.writeMap(values);
  }
}
