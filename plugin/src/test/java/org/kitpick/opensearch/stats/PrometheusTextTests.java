package org.kitpick.opensearch.stats;

import java.util.Map;
import java.util.TreeMap;
import org.kitpick.opensearch.stats.Statistics.Count;
import org.opensearch.test.OpenSearchTestCase;

/** What Prometheus reads of two nodes. */
public class PrometheusTextTests extends OpenSearchTestCase {

  public void testEachKindOfValueHasItsForm() {
    Statistics statistics = new Statistics();
    statistics.add(Count.CALLS, 7);
    statistics.original("timeout");
    statistics.took(100, 50);
    Map<String, Object> values = new TreeMap<>(statistics.snapshot());
    values.put("configured", true);
    values.put("in_flight", 3);
    values.put("refusal", 0.25);
    values.put("breaker", Map.of("state", "open", "opened", 2L));
    String text = PrometheusText.of(Map.of("a\"b", values));
    for (String line :
        new String[] {
          "# TYPE kitpick_node_calls_total counter",
          "kitpick_node_calls_total{node=\"a\\\"b\"} 7",
          "kitpick_node_original_total{node=\"a\\\"b\",reason=\"timeout\"} 1",
          "# TYPE kitpick_node_in_flight gauge",
          "kitpick_node_in_flight{node=\"a\\\"b\"} 3",
          "kitpick_node_refusal{node=\"a\\\"b\"} 0.25",
          "kitpick_node_configured{node=\"a\\\"b\"} 1",
          "kitpick_node_breaker_open{node=\"a\\\"b\"} 1",
          "kitpick_node_breaker_opened_total{node=\"a\\\"b\"} 2",
        }) {
      assertTrue(line + " in\n" + text, text.contains(line + "\n"));
    }
    assertTrue(
        text, text.contains("kitpick_node_took_seconds{node=\"a\\\"b\",quantile=\"0.99\"} 0."));
  }

  public void testTheLinesOfAMetricStandTogether() {
    Map<String, Map<String, Object>> nodes = new TreeMap<>();
    nodes.put("one", new Statistics().snapshot());
    nodes.put("two", new Statistics().snapshot());
    String text = PrometheusText.of(nodes);
    assertTrue(
        text.contains(
            """
            # TYPE kitpick_node_calls_total counter
            kitpick_node_calls_total{node="one"} 0
            kitpick_node_calls_total{node="two"} 0
            """));
    assertEquals(1, text.split("# TYPE kitpick_node_calls_total", -1).length - 1);
  }
}
