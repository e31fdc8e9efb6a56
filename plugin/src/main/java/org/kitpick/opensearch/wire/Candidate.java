package org.kitpick.opensearch.wire;

import java.io.IOException;
import java.util.List;
import org.opensearch.core.xcontent.ToXContentObject;
import org.opensearch.core.xcontent.XContentBuilder;

/**
 * A document as the rescorer sees it.
 *
 * @param id comes back in the answer; unique within one call
 * @param category the coarse shelf, empty where unknown
 * @param tool the group of APIs, empty where unknown
 * @param api the API's name, empty where unknown
 * @param text what the document says, never null
 * @param vector float32 values, little-endian, as base64; null where there are none
 * @param place null for a document that was fetched because the rescorer asked for it
 * @param deprecated whether the document says so
 * @param effect null where the document says nothing the protocol knows
 * @param needs what a caller must have found before, as the document holds it
 * @param gives what an answer holds, likewise
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
    List<String> gives)
    implements ToXContentObject {

  @Override
  public XContentBuilder toXContent(XContentBuilder json, Params params) throws IOException {
    json.startObject().field("id", id);
    json.field("category", category).field("tool", tool).field("api", api).field("text", text);
    if (vector != null) {
      json.field("vector", vector);
    }
    if (place != null) {
      write(json, place);
    }
    if (deprecated) {
      json.field("deprecated", true);
    }
    if (effect != null) {
      json.field("effect", effect);
    }
    if (!needs.isEmpty()) {
      json.field("needs", needs);
    }
    if (!gives.isEmpty()) {
      json.field("gives", gives);
    }
    return json.endObject();
  }

  /** One fused order is all that a search tells: no ranking by words, none by vectors. */
  private static void write(XContentBuilder json, Place place) throws IOException {
    json.startObject("first").field("rank", place.rank());
    if (Float.isFinite(place.score())) {
      json.field("score", place.score());
    }
    json.endObject();
  }
}
