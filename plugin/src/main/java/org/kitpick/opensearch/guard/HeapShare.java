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

  /**
   * A call is held as hits, as their texts, as the request's bytes and compressed; an answer as it
   * comes, whole, parsed, and as the hits that it ranks.
   */
  private static final int COPIES = 4;

  private final Supplier<org.opensearch.core.common.breaker.CircuitBreaker> breaker;

  /** The node hands the breaker over before the first search. */
  public HeapShare(Supplier<org.opensearch.core.common.breaker.CircuitBreaker> breaker) {
    this.breaker = breaker;
  }

  /** What one call holds: nothing at first. */
  Held held() {
    return new Held();
  }

  /** What one call holds, its body and what has come of its answer, until it is over. */
  final class Held {

    private long taken;
    private boolean over;

    /** Whether there is room for so many bytes more; if so, they are taken. */
    synchronized boolean tryTake(long bytes) {
      try {
        if (!over) {
          breaker.get().addEstimateBytesAndMaybeBreak(COPIES * bytes, NAME);
          taken += COPIES * bytes;
        }
        return !over;
      } catch (CircuitBreakingException e) {
        return false;
      }
    }

    /** The call is over: it gives all back, and takes no more. */
    synchronized void giveAll() {
      over = true;
      breaker.get().addWithoutBreaking(-taken);
      taken = 0;
    }
  }
}
