package org.kitpick.opensearch.stats;

import org.opensearch.test.OpenSearchTestCase;

public class LatencyHistogramTests extends OpenSearchTestCase {

  public void testPercentilesAreRightWithinAQuarter() {
    LatencyHistogram histogram = new LatencyHistogram();
    for (int i = 1; i <= 1000; i++) {
      histogram.add(i);
    }
    for (double share : new double[] {0.01, 0.5, 0.9, 0.99, 1.0}) {
      assertEquals(1.0, histogram.percentile(share) / (1000 * share), 0.25);
    }
  }

  public void testAnyDurationHasABucket() {
    LatencyHistogram histogram = new LatencyHistogram();
    assertEquals(0.0, histogram.percentile(0.5), 0.0);
    histogram.add(0);
    histogram.add(-1);
    histogram.add(1e12);
    assertTrue(histogram.percentile(1.0) > 1e6);
  }
}
