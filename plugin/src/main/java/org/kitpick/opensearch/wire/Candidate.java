package org.kitpick.opensearch.wire;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * A document as the rescorer sees it. Category, tool and API are empty where they are unknown.
 *
 * @param id comes back in the answer; unique within one call
 * @param vector float32 values, little-endian, as base64; null where there are none
 * @param place null for a document that was fetched because the rescorer asked for it
 * @param effect null where the document says nothing the protocol knows
 * @param needs what a caller must have found before, as the document holds it
 */
public record Candidate(
    String id,
    String category,
    String tool,
    String api,
    String text,
    String vector,
    Place place,
    boolean deprecated,
    String effect,
    List<String> needs,
    List<String> gives) {

  /** As the service reads it. */
  Map<String, Object> asMap() {
    Map<String, Object> map = new LinkedHashMap<>();
    map.put("id", id);
    map.put("category", category);
    map.put("tool", tool);
    map.put("api", api);
    map.put("text", text);
    map.put("vector", vector);
    map.put("first", place == null ? null : place.asMap());
    map.put("deprecated", deprecated ? true : null);
    map.put("effect", effect);
    map.put("needs", needs.isEmpty() ? null : needs);
    map.put("gives", gives.isEmpty() ? null : gives);
    map.values().removeIf(Objects::isNull);
    return map;
  }

  /**
   * Where the first stage had a document. One fused order is all that a search tells: no ranking by
   * words, none by vectors.
   *
   * @param rank position from 1
   * @param score the first stage's score; NaN where it computed none
   */
  public record Place(int rank, float score) {

    private Map<String, Object> asMap() {
      return Float.isFinite(score) ? Map.of("rank", rank, "score", score) : Map.of("rank", rank);
    }
  }
}
