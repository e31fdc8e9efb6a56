package org.toolrank.opensearch.guard;

import org.opensearch.OpenSearchException;
import org.opensearch.core.rest.RestStatus;

/**
 * A rescoring that did not come about, and why. What the caller of {@code on_failure: fail} sees.
 */
public final class RescoreFailure extends OpenSearchException {

  private static final long serialVersionUID = 1L;

  private final Trouble trouble;

  /** With a sentence that holds neither query text nor secrets. */
  public RescoreFailure(Trouble trouble, String message) {
    super("toolrank: " + trouble.code() + ": " + message);
    this.trouble = trouble;
  }

  /** What kind of failure it is. */
  public Trouble trouble() {
    return trouble;
  }

  @Override
  public RestStatus status() {
    return trouble.status();
  }
}
