package org.kitpick.opensearch.wire;

/**
 * The service's answer is not one that can be trusted. Says what is wrong with it, never what was
 * asked.
 */
public final class InvalidAnswer extends RuntimeException {

  private static final long serialVersionUID = 1L;

  /** With a sentence for the response's ext and the log. */
  public InvalidAnswer(String message) {
    super(message);
  }
}
