package org.toolrank.opensearch.guard;

import java.util.function.LongSupplier;

/**
 * Leaves a failing service alone. After {@code failures} failures in a row nothing passes for
 * {@code pause}; then one call tries: its success closes the circuit, its failure opens it for
 * another pause.
 *
 * <p>Without it every search would wait for its whole deadline while a service is down.
 */
public final class CircuitBreaker {

  /** What the statistics show. */
  public enum State {
    /** Everything passes. */
    CLOSED,
    /** Nothing passes. */
    OPEN,
    /** One call is trying. */
    HALF_OPEN
  }

  private final int failures;
  private final long pauseNanos;
  private final LongSupplier nanoClock;

  private int inARow;
  private long openedAt;
  private boolean open;
  private boolean trying;
  private long opened;

  /** The clock is {@code System::nanoTime} outside of tests. */
  public CircuitBreaker(int failures, long pauseNanos, LongSupplier nanoClock) {
    this.failures = failures;
    this.pauseNanos = pauseNanos;
    this.nanoClock = nanoClock;
  }

  /** Whether a call may go out now. Who gets true must report one of the three outcomes below. */
  public synchronized boolean tryPass() {
    if (!open) {
      return true;
    }
    if (trying || nanoClock.getAsLong() - openedAt < pauseNanos) {
      return false;
    }
    trying = true;
    return true;
  }

  /** The service answered as it should. */
  public synchronized void succeeded() {
    inARow = 0;
    open = false;
    trying = false;
  }

  /** The service did not. */
  public synchronized void failed() {
    inARow++;
    if (trying || (!open && inARow >= failures)) {
      open = true;
      openedAt = nanoClock.getAsLong();
      opened++;
    }
    trying = false;
  }

  /** The call says nothing about the service, e.g. because it refused this one request. */
  public synchronized void abandoned() {
    trying = false;
  }

  /** The present state. */
  public synchronized State state() {
    if (!open) {
      return State.CLOSED;
    }
    return trying ? State.HALF_OPEN : State.OPEN;
  }

  /** How often it has opened since the node started. */
  public synchronized long timesOpened() {
    return opened;
  }
}
