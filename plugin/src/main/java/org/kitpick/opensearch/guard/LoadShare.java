package org.kitpick.opensearch.guard;

import java.util.function.LongSupplier;

/**
 * Keeps a busy service at work without flooding it: as many searches are with it at a time as it
 * holds, and the others are spared the way. When it turns one away, it holds those that are with it
 * now; when it answers one, there may be room for more (additive increase, compare Chiu and Jain,
 * Computer Networks and ISDN Systems 17, 1989).
 *
 * <p>What counts is how many are with it, not how many it took in some seconds: a service that
 * holds one search at a time would else stand idle between two that happen to come, and take the
 * fewer the fewer it is sent. Searches count, not calls: what was begun is finished.
 */
public final class LoadShare {

  private static final long WINDOW_NANOS = 5_000_000_000L;
  private static final long FIRST_REST_NANOS = 10_000_000L;

  /** Refusals in a row, with nothing under way, of which nobody can tell that others go on. */
  private static final int FEW = 2;

  private static final int MOST_DOUBLINGS = 7;

  /** While the service has all it holds, a search is prepared for the next place so often. */
  private static final long NEXT_NANOS = 10_000_000L;

  private final LongSupplier nanoClock;

  private double limit = Double.POSITIVE_INFINITY;
  private int underWay;
  private long refusedAt;
  private int refusedInARow;
  private long restsUntil;
  private boolean resting;
  private long preparedAt;

  private long windowStart;
  private int wanted;
  private int spared;
  private int wantedBefore;
  private int sparedBefore;

  /** The clock is {@code System::nanoTime} outside of tests. */
  public LoadShare(LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
    this.windowStart = nanoClock.getAsLong();
    this.refusedAt = windowStart;
    this.preparedAt = windowStart - NEXT_NANOS;
  }

  /**
   * Whether anything should be prepared for a search to go to the service. While that has all it
   * holds, a search every ten milliseconds is enough: one is ready when a place gets free, and the
   * others cost no more than without the service. Who gets false is spared.
   */
  public synchronized boolean isWorthPreparing() {
    long now = nanoClock.getAsLong();
    turnWindow(now);
    forget(now);
    if (hasRoom(now)) {
      return true;
    }
    boolean next = !isResting(now) && now - preparedAt >= NEXT_NANOS;
    if (next) {
      preparedAt = now;
    } else {
      wanted++;
      spared++;
    }
    return next;
  }

  /**
   * Whether a search may go to the service now. Who gets true must report one of the three outcomes
   * below.
   */
  public synchronized boolean tryPass() {
    boolean passes = tryTake();
    if (!passes) {
      spare();
    }
    return passes;
  }

  /** The same; who gets false may try again, or is spared in the end. */
  synchronized boolean tryTake() {
    long now = nanoClock.getAsLong();
    turnWindow(now);
    forget(now);
    if (!hasRoom(now)) {
      return false;
    }
    wanted++;
    underWay++;
    return true;
  }

  /** A search gave up that had found no room. */
  synchronized void spare() {
    turnWindow(nanoClock.getAsLong());
    wanted++;
    spared++;
  }

  /** Whether one search is under way. */
  synchronized boolean isOne() {
    return underWay == 1;
  }

  /** Whether the service is left alone until then, and for longer. */
  synchronized boolean restsBeyond(long nanos) {
    return isResting(nanoClock.getAsLong()) && restsUntil - nanos > 0;
  }

  /** The service answered a search: with as many under way as may be, one more may be tried. */
  public synchronized void answered() {
    if (underWay >= Math.floor(limit)) {
      limit += 1 / limit;
    }
    underWay--;
    refusedInARow = 0;
  }

  /**
   * The service turned a search away: it holds those that are still under way. Where there is none,
   * others keep it busy. If they go on, it is left alone for a moment, each time for longer.
   */
  public synchronized void busy() {
    underWay--;
    refusedAt = nanoClock.getAsLong();
    if (underWay > 0) {
      limit = underWay;
    } else if (++refusedInARow > FEW) {
      rest(FIRST_REST_NANOS << Math.min(refusedInARow - FEW - 1, MOST_DOUBLINGS));
    }
  }

  /**
   * Searches under way hinder each other: a fifth fewer of them. To be told while it is one; one
   * alone hinders nobody.
   */
  synchronized void crowded() {
    if (underWay > 1) {
      refusedAt = nanoClock.getAsLong();
      limit = Math.max(1, 0.8 * Math.min(limit, underWay));
    }
  }

  /** The search is over, and says nothing of how busy the service is. */
  public synchronized void abandoned() {
    underWay--;
  }

  /** The service takes nothing for so long. */
  public synchronized void pause(long nanos) {
    rest(nanos);
  }

  /** The share of searches that was spared the way lately, in [0, 1]. */
  public synchronized double refusal() {
    turnWindow(nanoClock.getAsLong());
    int all = wanted + wantedBefore;
    return all == 0 ? 0.0 : (double) (spared + sparedBefore) / all;
  }

  private boolean hasRoom(long now) {
    return !isResting(now) && underWay < Math.floor(limit);
  }

  /** A service that turned nothing away for long may hold anything. */
  private void forget(long now) {
    if (now - refusedAt >= 2 * WINDOW_NANOS) {
      limit = Double.POSITIVE_INFINITY;
      refusedInARow = 0;
    }
  }

  private void rest(long nanos) {
    long until = nanoClock.getAsLong() + nanos;
    if (!resting || until - restsUntil > 0) {
      restsUntil = until;
      resting = true;
    }
  }

  private boolean isResting(long now) {
    resting = resting && now - restsUntil < 0;
    return resting;
  }

  private void turnWindow(long now) {
    long past = now - windowStart;
    if (past < WINDOW_NANOS) {
      return;
    }
    boolean next = past < 2 * WINDOW_NANOS;
    wantedBefore = next ? wanted : 0;
    sparedBefore = next ? spared : 0;
    wanted = 0;
    spared = 0;
    windowStart = now;
  }
}
