package org.kitpick.opensearch.stats;

import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;

/** Counts what this node did since it started. */
public final class Statistics {

  /** What is counted, by the name under which it is shown. */
  public enum Count {
    /** Searches that came to the processor. */
    SEARCHES,
    /** Those that came back in the service's order. */
    RESCORED,
    /** Rescored, but not as well as wanted. */
    DEGRADED,
    /** Calls to the service. */
    CALLS,
    /** Calls repeated after a broken connection. */
    RETRIES,
    /** Searches for documents that the service asked for. */
    FETCHES,
    /** Documents that they brought. */
    FETCHED_DOCUMENTS,
    /** Sent to the service. */
    REQUEST_BYTES,
    /** Read from it. */
    ANSWER_BYTES
  }

  private static final long LONGEST_MICROS = TimeUnit.HOURS.toMicros(1);

  private final Map<Count, LongAdder> counts = new EnumMap<>(Count.class);
  private final Map<String, LongAdder> skipped = new ConcurrentHashMap<>();
  private final Map<String, LongAdder> original = new ConcurrentHashMap<>();

  /** Of microseconds, to two digits. */
  private final Histogram total = new ConcurrentHistogram(LONGEST_MICROS, 2);

  private final Histogram service = new ConcurrentHistogram(LONGEST_MICROS, 2);

  /** Nothing so far. */
  public Statistics() {
    for (Count what : Count.values()) {
      counts.put(what, new LongAdder());
    }
  }

  /** One more. */
  public void count(Count what) {
    add(what, 1);
  }

  /** This many more. */
  public void add(Count what, long amount) {
    counts.get(what).add(amount);
  }

  /** A search that was none to rescore, by the reason's code. */
  public void skipped(String reason) {
    increase(skipped, reason);
  }

  /** A search that could not be rescored, by the reason's code. */
  public void original(String reason) {
    increase(original, reason);
  }

  /**
   * How long a rescored search was held up, and how much of that the service took by its own
   * account.
   */
  public void took(double totalMillis, double serviceMillis) {
    total.recordValue(micros(totalMillis));
    service.recordValue(micros(serviceMillis));
  }

  private static long micros(double millis) {
    return Math.max(0, Math.min(LONGEST_MICROS, Math.round(millis * 1e3)));
  }

  /** The present values; percentiles are right within a hundredth. */
  public Map<String, Object> snapshot() {
    Map<String, Object> all = new TreeMap<>();
    counts.forEach((what, n) -> all.put(what.name().toLowerCase(Locale.ROOT), n.sum()));
    all.put("skipped", sums(skipped));
    all.put("original", sums(original));
    all.put("took_ms", percentiles(total));
    all.put("service_ms", percentiles(service));
    return all;
  }

  private static void increase(Map<String, LongAdder> adders, String name) {
    adders.computeIfAbsent(name, key -> new LongAdder()).increment();
  }

  private static Map<String, Object> sums(Map<String, LongAdder> adders) {
    Map<String, Object> sums = new TreeMap<>();
    adders.forEach((name, adder) -> sums.put(name, adder.sum()));
    return sums;
  }

  private static Map<String, Object> percentiles(Histogram histogram) {
    Map<String, Object> values = new TreeMap<>();
    values.put("p50", histogram.getValueAtPercentile(50) / 1e3);
    values.put("p95", histogram.getValueAtPercentile(95) / 1e3);
    values.put("p99", histogram.getValueAtPercentile(99) / 1e3);
    return values;
  }
}
