package org.kitpick.opensearch.guard;

import org.opensearch.OpenSearchException;
import org.opensearch.core.rest.RestStatus;

/**
 * A rescoring that did not come about, and why. What the caller of {@code on_failure: fail} sees.
 */
public final class RescoreFailure extends OpenSearchException {

  private static final long serialVersionUID = 1L;

  private final FailureReason reason;
  private final long retryAfterSeconds;

  /** With a sentence that holds neither query text nor secrets. */
  public RescoreFailure(FailureReason reason, String message) {
    this(reason, message, 0);
  }

  /** Where {@link HeapShare} is used up. */
  public static RescoreFailure noRoom() {
    return new RescoreFailure(
        FailureReason.TOO_MANY, "searches under way hold as much memory as they may");
  }

  /** With the time after which the service wants to be asked again; 0 where it said none. */
  public RescoreFailure(FailureReason reason, String message, long retryAfterSeconds) {
    super("kitpick: " + reason.code() + ": " + message);
    this.reason = reason;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  /** What kind of failure it is. */
  public FailureReason reason() {
    return reason;
  }

  /** Seconds after which the service wants to be asked again; 0 where it said none. */
  public long retryAfterSeconds() {
    return retryAfterSeconds;
  }

  @Override
  public RestStatus status() {
    return reason.status();
  }
}
