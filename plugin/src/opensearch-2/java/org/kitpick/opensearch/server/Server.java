package org.kitpick.opensearch.server;

import java.net.http.HttpClient;
import java.security.AccessController;
import java.security.PrivilegedAction;
import java.util.function.Supplier;
import org.apache.lucene.search.TotalHits;

/** What is done otherwise in OpenSearch 2, its Java and its Lucene. */
public final class Server {

  private Server() {}

  /** Work for which this plugin's permissions count: here Java's own security manager asks. */
  @SuppressWarnings({"deprecation", "removal"})
  public static <T> T privileged(Supplier<T> work) {
    return AccessController.doPrivileged((PrivilegedAction<T>) work::get);
  }

  /** Leaves a client to the garbage collector: in Java 17 nothing else ends it. */
  public static void end(HttpClient client) {}

  /** How many hits there are, at least. */
  public static long count(TotalHits total) {
    return total.value;
  }

  /** Whether there are no more than that. */
  public static boolean areAll(TotalHits total) {
    return total.relation == TotalHits.Relation.EQUAL_TO;
  }
}
