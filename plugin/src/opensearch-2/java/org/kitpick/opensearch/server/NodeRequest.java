package org.kitpick.opensearch.server;

import java.io.IOException;
import org.opensearch.action.support.nodes.BaseNodeRequest;
import org.opensearch.core.common.io.stream.StreamInput;

/** Asks one node; there is nothing to say. As actions over nodes want it in OpenSearch 2. */
@SuppressWarnings("deprecation") // transport requests do in OpenSearch 3
public final class NodeRequest extends BaseNodeRequest {

  /** Says nothing. */
  public NodeRequest() {
    super();
  }

  /** From another node. */
  public NodeRequest(StreamInput in) throws IOException {
    super(in);
  }
}
