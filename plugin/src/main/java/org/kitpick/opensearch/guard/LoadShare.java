package org.kitpick.opensearch.guard;

import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;

/**
 * Sends a busy service about as many calls as it takes, and spares the others the way. Of the calls
 * that wanted to go out lately, so many are turned away here that the service gets at most {@code
 * GENEROSITY} times what it took (client-side throttling: Beyer et al., Site Reliability
 * Engineering, chapter 21).
 *
 * <p>A service that turns nothing away gets everything. What it took and turned away is forgotten
 * after two windows.
 */
public final class LoadShare {

  /** How much more than it took: without any, a service with room again would not be noticed. */
  static final double GENEROSITY = 1.5;

  /** Of fewer calls nobody can tell a share. */
  private static final int LEAST_CALLS = 10;

  private static final long WINDOW_NANOS = 5_000_000_000L;

  private final LongSupplier nanoClock;
  private final DoubleSupplier random;

  private long windowStart;
  private int wanted;
  private int turnedAway;
  private int wantedBefore;
  private int turnedAwayBefore;
  private long pausedUntil;
  private boolean paused;

  /** The clock is {@code System::nanoTime}; {@code random} gives values in [0, 1). */
  public LoadShare(LongSupplier nanoClock, DoubleSupplier random) {
    this.nanoClock = nanoClock;
    this.random = random;
    this.windowStart = nanoClock.getAsLong();
  }

  /** Whether a call may go out now. */
  public synchronized boolean tryPass() {
    long now = nanoClock.getAsLong();
    boolean passes = !isPaused(now) && random.getAsDouble() >= refusal();
    wanted++;
    if (!passes) {
      turnedAway++;
    }
    return passes;
  }

  /** The service turned a call away that had passed here. */
  public synchronized void busy() {
    turnWindow(nanoClock.getAsLong());
    turnedAway++;
  }

  /** The service takes nothing for so long. */
  public synchronized void pause(long nanos) {
    pausedUntil = nanoClock.getAsLong() + nanos;
    paused = true;
  }

  /** The share of calls that is turned away now, in [0, 1). */
  public synchronized double refusal() {
    turnWindow(nanoClock.getAsLong());
    double all = (double) wanted + wantedBefore;
    double taken = all - turnedAway - turnedAwayBefore;
    return all < LEAST_CALLS ? 0.0 : Math.max(0.0, (all - GENEROSITY * taken) / (all + 1));
  }

  private boolean isPaused(long now) {
    paused = paused && now - pausedUntil < 0;
    return paused;
  }

  private void turnWindow(long now) {
    long past = now - windowStart;
    if (past < WINDOW_NANOS) {
      return;
    }
    boolean next = past < 2 * WINDOW_NANOS;
    wantedBefore = next ? wanted : 0;
    turnedAwayBefore = next ? turnedAway : 0;
    wanted = 0;
    turnedAway = 0;
    windowStart = now;
  }
}
