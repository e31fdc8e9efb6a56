package org.kitpick.opensearch.server;

import java.util.function.Supplier;
import org.opensearch.secure_sm.AccessController;

/** Work for which the permissions of this plugin count, and not those of who calls it. */
public final class Privileged {

  private Privileged() {}

  /** What the work returns. */
  public static <T> T work(Supplier<T> work) {
    return AccessController.doPrivileged(work);
  }
}
