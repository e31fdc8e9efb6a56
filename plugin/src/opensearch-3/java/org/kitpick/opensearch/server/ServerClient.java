package org.kitpick.opensearch.server;

import org.opensearch.action.search.SearchRequest;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.core.action.ActionListener;
import org.opensearch.transport.client.Client;

/** This node's client, in OpenSearch 3: its searches run as whoever the thread context says. */
public final class ServerClient {

  private final Client client;

  ServerClient(Client client) {
    this.client = client;
  }

  /** Runs a search. */
  public void search(SearchRequest request, ActionListener<SearchResponse> listener) {
    client.search(request, listener);
  }
}
