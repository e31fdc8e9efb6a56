package org.kitpick.opensearch.server;

import java.io.IOException;
import org.opensearch.core.common.io.stream.StreamInput;
import org.opensearch.transport.TransportRequest;

/** What one node asks another, as actions over nodes want it in OpenSearch 3. */
public abstract class NodeRequest extends TransportRequest {

  /** Says nothing. */
  protected NodeRequest() {
    super();
  }

  /** From another node. */
  protected NodeRequest(StreamInput in) throws IOException {
    super(in);
  }
}
