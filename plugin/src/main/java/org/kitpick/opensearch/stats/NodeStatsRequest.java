package org.kitpick.opensearch.stats;

import java.io.IOException;
import org.kitpick.opensearch.server.NodeRequest;
import org.opensearch.core.common.io.stream.StreamInput;

/** Asks one node; there is nothing to say. */
public final class NodeStatsRequest extends NodeRequest {

  /** Says nothing. */
  public NodeStatsRequest() {
    super();
  }

  /** From another node. */
  public NodeStatsRequest(StreamInput in) throws IOException {
    super(in);
  }
}
