package org.kitpick.opensearch.server;

import java.io.IOException;
import org.opensearch.action.support.nodes.BaseNodeRequest;
import org.opensearch.core.common.io.stream.StreamInput;

/** What one node asks another, as actions over nodes want it in OpenSearch 2. */
@SuppressWarnings("deprecation") // transport requests do in OpenSearch 3
public abstract class NodeRequest extends BaseNodeRequest {

  /** Says nothing. */
  protected NodeRequest() {
    super();
  }

  /** From another node. */
  protected NodeRequest(StreamInput in) throws IOException {
    super(in);
  }
}
