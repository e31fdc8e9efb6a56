package org.kitpick.opensearch.wire;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.core.common.bytes.BytesReference;
import org.opensearch.core.xcontent.ToXContentObject;
import org.opensearch.core.xcontent.XContentBuilder;

/**
 * Body of {@code POST /v1/rescore}.
 *
 * @param query what was asked, in words
 * @param profile name of a profile (String) or its stages (Map); null for the service's default
 * @param vector the query's vector as base64, or null
 * @param vectorModel identity of the model that made the vectors, or null
 * @param candidates the window of the first stage
 * @param fetched documents that an earlier answer asked for
 * @param completeTools keys of the tools of which every visible API is among the documents
 * @param passages whether long texts are read by their passage nearest to the query
 * @param explain whether the answer says what every stage did
 */
public record RescoreCall(
    String query,
    Object profile,
    String vector,
    String vectorModel,
    List<Candidate> candidates,
    List<Candidate> fetched,
    Set<String> completeTools,
    boolean passages,
    boolean explain)
    implements ToXContentObject {

  /** The same call with more documents in it. */
  public RescoreCall with(List<Candidate> allFetched, Set<String> complete) {
    return new RescoreCall(
        query, profile, vector, vectorModel, candidates, allFetched, complete, passages, explain);
  }

  /** The body as UTF-8 JSON; the answer is of no use after {@code deadlineMillis}. */
  public byte[] toJson(long deadlineMillis) {
    try (XContentBuilder json = JsonXContent.contentBuilder()) {
      toXContent(
          json, new MapParams(Map.of("deadline_ms", Long.toString(Math.max(1, deadlineMillis)))));
      return BytesReference.toBytes(BytesReference.bytes(json));
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a builder over memory reads and writes nothing else
    }
  }

  @Override
  public XContentBuilder toXContent(XContentBuilder json, Params params) throws IOException {
    json.startObject().field("protocol", 1).field("query", query);
    if (profile != null) {
      json.field("profile", profile);
    }
    // All of them: the page is cut here, so that pages of one search fit together.
    json.field("k", candidates.size() + fetched.size());
    String deadline = params.param("deadline_ms");
    if (deadline != null) {
      json.field("deadline_ms", Long.parseLong(deadline));
    }
    if (vector != null) {
      json.field("vector", vector);
    }
    if (vectorModel != null) {
      json.field("vector_model", vectorModel);
    }
    write(json, "candidates", candidates);
    if (!fetched.isEmpty()) {
      write(json, "fetched", fetched);
    }
    if (!completeTools.isEmpty()) {
      json.field("complete_tools", new TreeSet<>(completeTools));
    }
    if (passages) {
      json.field("passages", true);
    }
    if (explain) {
      json.field("explain", true);
    }
    return json.endObject();
  }

  private static void write(XContentBuilder json, String name, List<Candidate> items)
      throws IOException {
    json.startArray(name);
    for (Candidate item : items) {
      item.toXContent(json, EMPTY_PARAMS);
    }
    json.endArray();
  }
}
