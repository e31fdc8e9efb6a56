package org.kitpick.opensearch.server;

import org.opensearch.action.ActionRequest;
import org.opensearch.action.ActionType;
import org.opensearch.client.node.NodeClient;
import org.opensearch.core.action.ActionListener;
import org.opensearch.core.action.ActionResponse;
import org.opensearch.rest.BaseRestHandler;
import org.opensearch.rest.RestRequest;

/** A REST handler of OpenSearch 2, without the types that differ between major versions. */
public abstract class ServerHandler extends BaseRestHandler {

  /** Runs actions on this node. */
  protected interface Actions {
    /** Runs one. */
    <Q extends ActionRequest, S extends ActionResponse> void execute(
        ActionType<S> action, Q request, ActionListener<S> listener);
  }

  @Override
  protected final RestChannelConsumer prepareRequest(RestRequest request, NodeClient client) {
    return prepare(request, client::execute);
  }

  /** What answers the request. */
  protected abstract RestChannelConsumer prepare(RestRequest request, Actions actions);
}
