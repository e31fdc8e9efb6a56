package org.kitpick.opensearch.guard;

import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Searches that wait until there is room for them. The one with the nearest deadline goes first:
 * among searches that have equally long, that is the one that came first.
 *
 * <p>An answer by words alone costs the cluster little, but it is a poor one. And a client that
 * gets it at once asks again at once: eight such clients take four fifths of the processor from a
 * service on the same machine.
 *
 * <p>The service has room for so many searches, and so has the node: where they take twice as long
 * as one alone, the node lets fewer in (compare TCP Vegas: Brakmo and Peterson, IEEE Journal on
 * Selected Areas in Communications 13, 1995). Otherwise many are begun, and none is finished in
 * time.
 */
public final class WaitingLine {

  /** A pause of the service, and the end of a search's time, are seen so late at most. */
  private static final long LOOK_MILLIS = 20;

  /**
   * Weights of the last search in what searches take alone. One beside others says little: it may
   * be fast because the service remembers its scores.
   */
  private static final double ALONE = 0.2;

  private static final double BESIDE_OTHERS = 0.02;

  /** Of what a search takes alone: what one needs beside others, and what is too much. */
  private static final double NEEDED = 2;

  private static final double CROWDED = 2;

  private final LoadShare share;
  private final LongSupplier nanoClock;
  private final Executor executor;
  private final Executor later;
  private final PriorityQueue<Waiting> line =
      new PriorityQueue<>((one, other) -> Long.signum(one.untilNanos - other.untilNanos));
  private boolean watched;
  private double aloneNanos;

  private record Waiting(long untilNanos, CompletableFuture<Boolean> passes) {}

  /** The executor runs what waited; the clock is {@code System::nanoTime} outside of tests. */
  public WaitingLine(LoadShare share, Executor executor, LongSupplier nanoClock) {
    this.share = share;
    this.nanoClock = nanoClock;
    this.executor = executor;
    this.later = CompletableFuture.delayedExecutor(LOOK_MILLIS, TimeUnit.MILLISECONDS, executor);
  }

  /** When a search that has so long must be answered. */
  long deadlineNanos(long leftMillis) {
    return nowNanos() + TimeUnit.MILLISECONDS.toNanos(leftMillis);
  }

  /** The time of this line's clock. */
  long nowNanos() {
    return nanoClock.getAsLong();
  }

  /**
   * True once the search may go to the service, which must then be told of its outcome; false once
   * too little time is left for a search, or at once where the service is away for longer.
   *
   * @param deadlineNanos when it must be answered
   */
  synchronized CompletableFuture<Boolean> enter(long deadlineNanos) {
    if (line.isEmpty() && share.tryTake()) {
      return CompletableFuture.completedFuture(true);
    }
    long untilNanos = deadlineNanos - neededNanos(deadlineNanos);
    if (isOver(untilNanos) || share.restsBeyond(untilNanos)) {
      share.spare();
      return CompletableFuture.completedFuture(false);
    }
    Waiting waiting = new Waiting(untilNanos, new CompletableFuture<>());
    line.add(waiting);
    watch();
    return waiting.passes;
  }

  /** Whether a search that was turned away may enter once more. */
  synchronized boolean hasTime(long deadlineNanos) {
    return !isOver(deadlineNanos - neededNanos(deadlineNanos));
  }

  /**
   * A search that was let in ended, with an answer or with a failure.
   *
   * @param alone whether no other was under way when it began
   */
  synchronized void ended(long nanos, boolean alone, Throwable failure) {
    if (failure == null) {
      learn(nanos, alone);
    }
    boolean counts = failure == null || Failures.of(failure).reason() == FailureReason.TIMEOUT;
    if (counts && aloneNanos > 0 && nanos > CROWDED * aloneNanos) {
      share.crowded();
    }
  }

  private void learn(long nanos, boolean alone) {
    if (aloneNanos == 0) {
      aloneNanos = nanos;
    } else if (alone || nanos < aloneNanos) {
      aloneNanos += (alone ? ALONE : BESIDE_OTHERS) * (nanos - aloneNanos);
    }
  }

  /** What a search takes alone, its reading of the index included; 0 where none was seen. */
  synchronized long aloneMillis() {
    return TimeUnit.NANOSECONDS.toMillis((long) aloneNanos);
  }

  /** To be called when a search has left the service. */
  synchronized void look() {
    while (!line.isEmpty() && isOver(line.peek().untilNanos)) {
      share.spare();
      tell(line.poll(), false);
    }
    while (!line.isEmpty() && share.tryTake()) {
      tell(line.poll(), true);
    }
  }

  /** What a search takes while others are under way; half of what is left where none was seen. */
  private long neededNanos(long deadlineNanos) {
    long leftNanos = deadlineNanos - nowNanos();
    return aloneNanos == 0 ? leftNanos / 2 : (long) (NEEDED * aloneNanos);
  }

  private boolean isOver(long untilNanos) {
    return untilNanos - nowNanos() <= 0;
  }

  private void tell(Waiting waiting, boolean passes) {
    executor.execute(() -> waiting.passes.complete(passes));
  }

  private void watch() {
    if (!watched) {
      watched = true;
      later.execute(this::lookAgain);
    }
  }

  private synchronized void lookAgain() {
    watched = false;
    look();
    if (!line.isEmpty()) {
      watch();
    }
  }
}
