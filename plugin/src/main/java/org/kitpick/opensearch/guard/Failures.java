package org.kitpick.opensearch.guard;

import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeoutException;
import org.opensearch.ExceptionsHelper;
import org.opensearch.core.tasks.TaskCancelledException;

/** Names whatever a future failed with. */
public final class Failures {

  private Failures() {}

  /**
   * The failure beneath what futures wrap around it; a future or a search is only ever cancelled by
   * the deadline.
   */
  public static RescoreFailure of(Throwable failure) {
    Throwable root = failure;
    while (root instanceof CompletionException && root.getCause() != null) {
      root = root.getCause();
    }
    if (root instanceof RescoreFailure named) {
      return named;
    }
    if (root instanceof FirstStageFailure
        && ExceptionsHelper.unwrap(root, TaskCancelledException.class) == null) {
      return new RescoreFailure(
          FailureReason.FIRST_STAGE, "the cluster could not run what the service asked for");
    }
    if (root instanceof TimeoutException
        || root instanceof CancellationException
        || root instanceof FirstStageFailure) {
      return new RescoreFailure(FailureReason.TIMEOUT, "no answer within the deadline");
    }
    return new RescoreFailure(FailureReason.INTERNAL, place(root));
  }

  /** What kind of error it was and where: its own text may quote what was asked. */
  private static String place(Throwable error) {
    String kind = error.getClass().getSimpleName();
    for (StackTraceElement at : error.getStackTrace()) {
      if (at.getClassName().startsWith("org.kitpick.")) {
        return kind + " at " + at.getFileName() + ":" + at.getLineNumber();
      }
    }
    return kind;
  }
}
