package org.kitpick.opensearch.server;

import java.net.http.HttpClient;

/** The end of an HTTP client, which differs between versions of Java. */
public final class HttpClients {

  private HttpClients() {}

  /** Leaves it to the garbage collector: in Java 17 nothing else ends it. */
  public static void end(HttpClient client) {}
}
