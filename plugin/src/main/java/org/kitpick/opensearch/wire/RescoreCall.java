package org.kitpick.opensearch.wire;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.opensearch.core.common.bytes.BytesReference;

/**
 * Body of {@code POST /v1/rescore}.
 *
 * @param profile name of a profile (String) or its stages (Map); null for the service's default
 * @param vector the query's vector as base64, or null
 * @param vectorModel identity of the model that made the vectors, or null
 * @param fetched documents that an earlier answer asked for
 * @param completeTools keys of the tools of which every visible API is among the documents
 * @param passages whether long texts are read by their passage nearest to the query
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
    boolean explain) {

  /** The same call with more documents in it. */
  public RescoreCall with(List<Candidate> allFetched, Set<String> complete) {
    return new RescoreCall(
        query, profile, vector, vectorModel, candidates, allFetched, complete, passages, explain);
  }

  /** The body as UTF-8 JSON; the answer is of no use after {@code deadlineMillis}. */
  public byte[] toJson(long deadlineMillis) {
    Map<String, Object> body = new LinkedHashMap<>();
    body.put("protocol", 1);
    body.put("query", query);
    body.put("profile", profile);
    // All of them: the page is cut here, so that pages of one search fit together.
    body.put("k", candidates.size() + fetched.size());
    body.put("deadline_ms", Math.max(1, deadlineMillis));
    body.put("vector", vector);
    body.put("vector_model", vectorModel);
    body.put("candidates", candidates.stream().map(Candidate::asMap).toList());
    body.put("fetched", orNull(fetched.stream().map(Candidate::asMap).toList()));
    body.put("complete_tools", orNull(new TreeSet<>(completeTools)));
    body.put("passages", passages ? true : null);
    body.put("explain", explain ? true : null);
    body.values().removeIf(Objects::isNull);
    return BytesReference.toBytes(Json.of(json -> json.map(body)));
  }

  private static Object orNull(Collection<?> values) {
    return values.isEmpty() ? null : values;
  }
}
