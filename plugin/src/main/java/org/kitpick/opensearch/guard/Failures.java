package org.kitpick.opensearch.guard;

import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeoutException;

/** Names whatever a future failed with. */
public final class Failures {

  private Failures() {}

  /**
   * The failure beneath what futures wrap around it; a future is only ever cancelled by the
   * deadline.
   */
  public static RescoreFailure of(Throwable failure) {
    Throwable root = failure;
    while (root instanceof CompletionException && root.getCause() != null) {
      root = root.getCause();
    }
    if (root instanceof RescoreFailure named) {
      return named;
    }
    if (root instanceof TimeoutException || root instanceof CancellationException) {
      return new RescoreFailure(FailureReason.TIMEOUT, "no answer within the deadline");
    }
    return new RescoreFailure(FailureReason.INTERNAL, root.getClass().getSimpleName());
  }
}
