package org.kitpick.opensearch.wire;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What every stage of the service did, as an answer says it: of each stage the head of its list.
 */
final class Trace {

  /** Stages of an answer. */
  private static final int MOST_STAGES = 50;

  /** Documents of a stage. */
  private static final int MOST_SHOWN = 20;

  private Trace() {}

  /** Stages in their order, with {@code hits} best first. */
  static List<Map<String, Object>> of(List<?> stages) {
    List<Map<String, Object>> trace = new ArrayList<>();
    for (Object stage : stages.subList(0, Math.min(stages.size(), MOST_STAGES))) {
      trace.add(stage(new JsonView(stage, "answer.trace[" + trace.size() + "]")));
    }
    return trace;
  }

  private static Map<String, Object> stage(JsonView json) {
    Map<String, Object> stage = new LinkedHashMap<>();
    stage.put("stage", json.text("stage"));
    stage.put("milliseconds", json.number("milliseconds"));
    for (String said : List.of("note", "skipped")) {
      if (!json.text(said, "").isEmpty()) {
        stage.put(said, json.text(said));
      }
    }
    stage.put("hits", hits(json));
    return stage;
  }

  private static List<Map<String, Object>> hits(JsonView json) {
    List<?> order = json.list("order");
    List<?> scores = json.list("scores");
    JsonView reasons = json.has("reasons") ? json.object("reasons") : new JsonView(Map.of(), "");
    List<Map<String, Object>> hits = new ArrayList<>();
    for (int i = 0; i < Math.min(Math.min(order.size(), scores.size()), MOST_SHOWN); i++) {
      Map<String, Object> hit = new LinkedHashMap<>();
      String id = String.valueOf(order.get(i));
      hit.put("id", id);
      hit.put("score", scores.get(i));
      if (!reasons.text(id, "").isEmpty()) {
        hit.put("reason", reasons.text(id));
      }
      hits.add(hit);
    }
    return hits;
  }
}
