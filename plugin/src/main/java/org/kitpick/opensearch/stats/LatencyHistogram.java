package org.kitpick.opensearch.stats;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Durations in buckets that grow by a quarter each: percentiles within 25 %, in 1 kB, without a
 * lock.
 */
public final class LatencyHistogram {

  private static final double GROWTH = 1.25;
  private static final double SMALLEST_MILLIS = 0.1;

  /** The last one begins at about an hour. */
  private static final int BUCKETS = 80;

  private final AtomicLongArray counts = new AtomicLongArray(BUCKETS);

  /** Adds one duration. */
  public void add(double millis) {
    double steps = Math.log(Math.max(millis, SMALLEST_MILLIS) / SMALLEST_MILLIS) / Math.log(GROWTH);
    counts.incrementAndGet((int) Math.min(BUCKETS - 1, Math.round(steps)));
  }

  /** The duration that this share of all stays below, 0 where there is none yet. */
  public double percentile(double share) {
    long total = 0;
    for (int i = 0; i < BUCKETS; i++) {
      total += counts.get(i);
    }
    long left = (long) Math.ceil(share * total);
    for (int i = 0; i < BUCKETS && total > 0; i++) {
      left -= counts.get(i);
      if (left <= 0) {
        return SMALLEST_MILLIS * Math.pow(GROWTH, i);
      }
    }
    return 0.0;
  }
}
