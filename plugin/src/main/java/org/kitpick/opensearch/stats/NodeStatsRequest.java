package org.kitpick.opensearch.stats;

import java.io.IOException;
import org.opensearch.core.common.io.stream.StreamInput;
import org.opensearch.transport.TransportRequest;

/** Asks one node; there is nothing to say. */
public final class NodeStatsRequest extends TransportRequest {

  /** Says nothing. */
  public NodeStatsRequest() {
    super();
  }

  /** From another node. */
  public NodeStatsRequest(StreamInput in) throws IOException {
    super(in);
  }
}
