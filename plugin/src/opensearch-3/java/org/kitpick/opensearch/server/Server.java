package org.kitpick.opensearch.server;

import java.net.http.HttpClient;
import java.util.function.Supplier;
import org.apache.lucene.search.TotalHits;
import org.opensearch.secure_sm.AccessController;

/** What is done otherwise in OpenSearch 3, its Java and its Lucene. */
public final class Server {

  private Server() {}

  /** Work for which this plugin's permissions count, and not those of who calls it. */
  public static <T> T privileged(Supplier<T> work) {
    return AccessController.doPrivileged(work);
  }

  /** Ends a client at once: calls under way fail. */
  public static void end(HttpClient client) {
    client.shutdownNow();
  }

  /** How many hits there are, at least. */
  public static long count(TotalHits total) {
    return total.value();
  }

  /** Whether there are no more than that. */
  public static boolean areAll(TotalHits total) {
    return total.relation() == TotalHits.Relation.EQUAL_TO;
  }
}
