package org.kitpick.opensearch.stats;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.kitpick.opensearch.stats.Statistics.Count;
import org.opensearch.Version;
import org.opensearch.cluster.ClusterName;
import org.opensearch.cluster.node.DiscoveryNode;
import org.opensearch.common.io.stream.BytesStreamOutput;
import org.opensearch.core.common.Strings;
import org.opensearch.core.xcontent.MediaTypeRegistry;
import org.opensearch.test.OpenSearchTestCase;

/** Every node counts for itself, and tells the one that was asked. */
public class StatsResponseTests extends OpenSearchTestCase {

  public void testItTravelsBetweenNodesAndIsShownByNode() throws IOException {
    Statistics statistics = new Statistics();
    statistics.add(Count.CALLS, 7);
    statistics.skipped("size_zero");
    statistics.original("timeout");
    statistics.took(12, 5);
    DiscoveryNode node = new DiscoveryNode("n1", buildNewFakeTransportAddress(), Version.CURRENT);
    NodeStats stats = new NodeStats(node, statistics.snapshot());
    StatsResponse response = new StatsResponse(new ClusterName("c"), List.of(stats), List.of());
    try (BytesStreamOutput out = new BytesStreamOutput()) {
      response.writeTo(out);
      StatsResponse back = new StatsResponse(out.bytes().streamInput());
      Map<String, Object> values = back.getNodes().get(0).values();
      assertEquals(statistics.snapshot(), values);
      assertEquals(7L, values.get("calls"));
      assertEquals(Map.of("size_zero", 1L), values.get("skipped"));
      assertEquals(Map.of("timeout", 1L), values.get("original"));
      String shown = Strings.toString(MediaTypeRegistry.JSON, back);
      assertTrue(shown, shown.startsWith("{\"nodes\":{\"n1\":{"));
    }
  }
}
