package org.kitpick.opensearch.guard;

/** A search that the service asked for, and that this cluster refused or could not run. */
public final class FirstStageFailure extends RuntimeException {

  private static final long serialVersionUID = 1L;

  /** With what the search engine said. */
  public FirstStageFailure(Exception cause) {
    super(cause);
  }
}
