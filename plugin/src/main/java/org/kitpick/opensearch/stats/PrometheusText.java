package org.kitpick.opensearch.stats;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The statistics of nodes as Prometheus reads them: counts since each node started, percentiles,
 * and the state of the circuit, with the node's name as a label.
 */
public final class PrometheusText {

  /** The media type of the format. */
  public static final String MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8";

  private static final String PREFIX = "kitpick_node_";
  private static final Map<String, String> QUANTILES =
      Map.of("p50", "0.5", "p95", "0.95", "p99", "0.99");

  /** Lines by metric: all lines of one stand together, under one comment. */
  private final Map<String, List<String>> lines = new LinkedHashMap<>();

  private PrometheusText() {}

  /** The text of all nodes' values, by the node's name. */
  public static String of(Map<String, Map<String, Object>> nodes) {
    PrometheusText text = new PrometheusText();
    nodes.forEach((node, values) -> text.add("node=\"" + escaped(node) + "\"", values));
    StringBuilder all = new StringBuilder();
    text.lines.forEach(
        (metric, each) -> {
          String type = metric.endsWith("_total") ? "counter" : "gauge";
          all.append("# TYPE ").append(metric).append(' ').append(type).append('\n');
          each.forEach(line -> all.append(line).append('\n'));
        });
    return all.toString();
  }

  private void add(String node, Map<String, Object> values) {
    values.forEach(
        (name, value) -> {
          if (value instanceof Map<?, ?> parts) {
            parts.forEach((part, each) -> addPart(node, name, String.valueOf(part), each));
          } else if (value instanceof Boolean truth) {
            line(name, node, truth ? 1 : 0);
          } else if (value instanceof Integer || value instanceof Double) {
            line(name, node, value); // a state: what is under way, or a share
          } else if (value instanceof Long) {
            line(name + "_total", node, value);
          }
        });
  }

  private void addPart(String node, String name, String part, Object value) {
    if (QUANTILES.containsKey(part) && value instanceof Number millis) {
      String labels = node + ",quantile=\"" + QUANTILES.get(part) + "\"";
      line(name.replaceAll("_ms$", "_seconds"), labels, millis.doubleValue() / 1e3);
    } else if (value instanceof Number) {
      boolean reason = name.equals("skipped") || name.equals("original");
      String labels = reason ? node + ",reason=\"" + escaped(part) + "\"" : node;
      line((reason ? name : name + "_" + part) + "_total", labels, value);
    } else if (part.equals("state")) {
      line(name + "_open", node, "closed".equals(value) ? 0 : 1);
    }
  }

  private void line(String name, String labels, Object value) {
    String metric = PREFIX + name;
    lines
        .computeIfAbsent(metric, key -> new ArrayList<>())
        .add(metric + "{" + labels + "} " + value);
  }

  private static String escaped(String label) {
    return label.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
  }
}
