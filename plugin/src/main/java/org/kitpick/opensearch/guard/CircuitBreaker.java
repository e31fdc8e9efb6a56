package org.kitpick.opensearch.guard;

import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;
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

  private final IntSupplier failures;
  private final LongSupplier pauseNanos;
  private final LongSupplier nanoClock;

  private int inARow;
  private long openedAt;
  private boolean open;
  private boolean trying;
  private long opened;

  /**
   * Both limits are read each time, because operators change them. The clock is {@code
   * System::nanoTime} outside of tests.
   */
  public CircuitBreaker(IntSupplier failures, LongSupplier pauseNanos, LongSupplier nanoClock) {
    this.failures = failures;
    this.pauseNanos = pauseNanos;
    this.nanoClock = nanoClock;
  }

  /** Whether a call may go out now. Who gets true must report one of the three outcomes below. */
  public synchronized boolean tryPass() {
    if (!open) {
      return true;
    }
    if (trying || isPausing()) {
      return false;
    }
    trying = true;
    return true;
  }

  /** Whether nothing would pass now; changes nothing. */
  public synchronized boolean isShut() {
    return open && (trying || isPausing());
  }

  /** The service answered as it should. Returns whether this closed the circuit. */
  public synchronized boolean succeeded() {
    boolean closes = open;
    inARow = 0;
    open = false;
    trying = false;
    return closes;
  }

  /** The service did not. Returns whether this opened the circuit, for the first time or again. */
  public synchronized boolean failed() {
    inARow++;
    boolean opens = trying || (!open && inARow >= failures.getAsInt());
    if (opens) {
      open = true;
      openedAt = nanoClock.getAsLong();
      opened++;
    }
    trying = false;
    return opens;
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

  /** How long nothing passes once it is open. */
  public long pauseMillis() {
    return TimeUnit.NANOSECONDS.toMillis(pauseNanos.getAsLong());
  }

  private boolean isPausing() {
    return nanoClock.getAsLong() - openedAt < pauseNanos.getAsLong();
  }
}
