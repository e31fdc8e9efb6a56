package org.kitpick.opensearch.guard;

import java.util.function.Supplier;
import org.opensearch.core.common.breaker.CircuitBreakingException;

/**
 * Accounts what calls hold of the heap to a memory breaker of the node's ({@code breaker.kitpick}
 * of its statistics), so that many searches before a service that hangs cannot fill the heap.
 */
public final class HeapShare {

  /** Name of the breaker: its limit is {@code breaker.kitpick.limit}. */
  public static final String NAME = "kitpick";

  /** A call is held as hits, as their texts, and as the request's bytes; and an answer comes. */
  private static final int COPIES = 4;

  private final Supplier<org.opensearch.core.common.breaker.CircuitBreaker> breaker;

  /** The node hands the breaker over before the first search. */
  public HeapShare(Supplier<org.opensearch.core.common.breaker.CircuitBreaker> breaker) {
    this.breaker = breaker;
  }

  /** Whether there is room for a call with a body of so many bytes; if so, it is taken. */
  boolean tryTake(long bodyBytes) {
    try {
      breaker.get().addEstimateBytesAndMaybeBreak(COPIES * bodyBytes, NAME);
      return true;
    } catch (CircuitBreakingException e) {
      return false;
    }
  }

  /** The call is over. */
  void give(long bodyBytes) {
    breaker.get().addWithoutBreaking(-COPIES * bodyBytes);
  }
}
