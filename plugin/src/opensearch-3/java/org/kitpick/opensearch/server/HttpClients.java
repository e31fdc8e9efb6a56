package org.kitpick.opensearch.server;

import java.net.http.HttpClient;

/** The end of an HTTP client, which differs between versions of Java. */
public final class HttpClients {

  private HttpClients() {}

  /** Ends it at once: calls under way fail. */
  public static void end(HttpClient client) {
    client.shutdownNow();
  }
}
