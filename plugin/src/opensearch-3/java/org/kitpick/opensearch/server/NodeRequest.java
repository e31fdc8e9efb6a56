package org.kitpick.opensearch.server;

import java.io.IOException;
import org.opensearch.core.common.io.stream.StreamInput;
import org.opensearch.transport.TransportRequest;

/** Asks one node; there is nothing to say. As actions over nodes want it in OpenSearch 3. */
public final class NodeRequest extends TransportRequest {

  /** Says nothing. */
  public NodeRequest() {
    super();
  }

  /** From another node. */
  public NodeRequest(StreamInput in) throws IOException {
    super(in);
  }
}
