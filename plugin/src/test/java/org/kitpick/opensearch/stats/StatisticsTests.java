package org.kitpick.opensearch.stats;

import java.util.Map;
import org.opensearch.test.OpenSearchTestCase;

/** What a node's statistics say of durations. */
public class StatisticsTests extends OpenSearchTestCase {

  private final Statistics statistics = new Statistics();

  @SuppressWarnings("unchecked")
  private double shown(String name, String percentile) {
    return (Double) ((Map<String, Object>) statistics.snapshot().get(name)).get(percentile);
  }

  public void testPercentilesAreOfMilliseconds() {
    assertEquals(0.0, shown("took_ms", "p50"), 0.0);
    for (int i = 1; i <= 1000; i++) {
      statistics.took(i, i / 10.0);
    }
    assertEquals(500, shown("took_ms", "p50"), 5);
    assertEquals(990, shown("took_ms", "p99"), 10);
    assertEquals(95, shown("service_ms", "p95"), 1);
  }

  public void testAnyDurationCounts() {
    statistics.took(-1, 1e12);
    assertEquals(0.0, shown("took_ms", "p99"), 0.0);
    assertTrue(shown("service_ms", "p99") > 1e6);
  }
}
