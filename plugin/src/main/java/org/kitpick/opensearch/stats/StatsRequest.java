package org.kitpick.opensearch.stats;

import java.io.IOException;
import org.opensearch.action.support.nodes.BaseNodesRequest;
import org.opensearch.core.common.io.stream.StreamInput;

/** Asks nodes for their statistics; no ids means all nodes. */
public final class StatsRequest extends BaseNodesRequest<StatsRequest> {

  /** For these nodes. */
  public StatsRequest(String... nodes) {
    super(nodes);
  }

  /** From another node. */
  public StatsRequest(StreamInput in) throws IOException {
    super(in);
  }
}
