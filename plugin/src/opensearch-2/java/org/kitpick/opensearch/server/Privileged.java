package org.kitpick.opensearch.server;

import java.security.AccessController;
import java.security.PrivilegedAction;
import java.util.function.Supplier;

/** Work for which the permissions of this plugin count, and not those of who calls it. */
public final class Privileged {

  private Privileged() {}

  /** What the work returns. OpenSearch 2 has Java's own security manager. */
  @SuppressWarnings({"deprecation", "removal"})
  public static <T> T work(Supplier<T> work) {
    return AccessController.doPrivileged((PrivilegedAction<T>) work::get);
  }
}
