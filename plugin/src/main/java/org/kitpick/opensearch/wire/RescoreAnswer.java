package org.kitpick.opensearch.wire;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Body of the answer to {@code POST /v1/rescore}, checked: it ranks only what it was asked about,
 * each once.
 *
 * @param need what would improve the list; empty where nothing would
 * @param totalMillis time spent inside the service
 * @param notes what the response's ext repeats: {@code query_kind}, {@code abstained}, …
 * @param degraded what the service could not do, in its own words
 */
public record RescoreAnswer(
    String profile,
    List<Hit> results,
    Need need,
    double totalMillis,
    Map<String, Object> notes,
    List<Map<String, Object>> degraded) {

  private static final int MAX_REASONS = 50;

  /** One document of the answer; {@code probability} is null where it was not scored. */
  public record Hit(String id, float score, Double probability, List<String> reasons) {

    /** Adds to a report of a search what the service says of the document. */
    public void explain(Map<String, Object> report) {
      report.put("score", score);
      if (probability != null) {
        report.put("probability", probability);
      }
      report.put("reasons", reasons);
    }
  }

  /**
   * Reads an answer about documents with these ids.
   *
   * @throws InvalidAnswer for anything that is not one
   */
  public static RescoreAnswer parse(byte[] body, Set<String> known) {
    return of(JsonView.parsed(body), known);
  }

  /** The same of an answer that is a part of another one. */
  static RescoreAnswer of(JsonView json, Set<String> known) {
    if (!json.has("results")) {
      throw new InvalidAnswer("answer.results is missing");
    }
    JsonView timings = json.has("timings") ? json.object("timings") : new JsonView(Map.of(), "");
    return new RescoreAnswer(
        json.text("profile", ""),
        results(json.list("results"), known),
        json.has("need") ? need(json.object("need")) : new Need(List.of(), null, 0),
        timings.has("total") ? timings.number("total") : 0.0,
        notes(json),
        degraded(json.list("degraded")));
  }

  private static List<Hit> results(List<?> items, Set<String> known) {
    List<Hit> results = new ArrayList<>(items.size());
    Set<String> seen = new HashSet<>();
    for (Object item : items) {
      JsonView json = new JsonView(item, "answer.results[" + results.size() + "]");
      String id = json.text("id");
      if (!known.contains(id)) {
        throw new InvalidAnswer("the answer ranks a document that was not sent");
      }
      if (!seen.add(id)) {
        throw new InvalidAnswer("the answer ranks a document twice");
      }
      float score = (float) json.number("score");
      if (!Float.isFinite(score)) {
        throw new InvalidAnswer("a score is too large for a float");
      }
      results.add(
          new Hit(id, score, json.optionalNumber("probability"), texts(json.list("reasons"))));
    }
    if (results.isEmpty() && !known.isEmpty()) {
      throw new InvalidAnswer("the answer ranks none of " + known.size() + " documents");
    }
    return List.copyOf(results);
  }

  private static List<String> texts(List<?> items) {
    return items.stream().limit(MAX_REASONS).map(String::valueOf).toList();
  }

  private static Need need(JsonView json) {
    List<String> tools =
        json.list("apis_of_tools").stream()
            .filter(String.class::isInstance)
            .map(String.class::cast)
            .toList();
    if (!json.has("neighbours")) {
      return new Need(tools, null, 0);
    }
    JsonView neighbours = json.object("neighbours");
    int k = (int) neighbours.number("k");
    return k < 1
        ? new Need(tools, null, 0)
        : new Need(tools, Vectors.decode(neighbours.text("vector")), k);
  }

  private static Map<String, Object> notes(JsonView json) {
    Map<String, Object> notes = new LinkedHashMap<>();
    if (json.has("query_kind")) {
      JsonView kind = json.object("query_kind");
      notes.put("query_kind", kind.text("kind"));
      notes.put("probability_multi", kind.number("probability_multi"));
    }
    if (json.truth("abstained")) {
      notes.put("abstained", true);
      notes.put("abstained_because", json.text("abstained_because", ""));
    }
    if (!json.list("trace").isEmpty()) {
      notes.put("trace", Trace.of(json.list("trace")));
    }
    return notes;
  }

  private static List<Map<String, Object>> degraded(List<?> items) {
    List<Map<String, Object>> degraded = new ArrayList<>();
    for (Object item : items) {
      JsonView json = new JsonView(item, "answer.degraded");
      degraded.add(Map.of("stage", json.text("stage", ""), "reason", json.text("reason", "")));
    }
    return degraded;
  }
}
