package org.kitpick.opensearch.catalog;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kitpick.opensearch.guard.RescoreFailure;
import org.kitpick.opensearch.rescore.ReportExt;
import org.kitpick.opensearch.rescore.Responses;
import org.kitpick.opensearch.wire.RescoreAnswer;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.search.SearchHit;
import org.opensearch.search.SearchHits;

/**
 * What the response to a {@code kitpick} query says of it, in {@code ext.kitpick}.
 *
 * @param values what is known before the hits are read
 * @param ranked best first; empty where nothing was ranked, or nothing is to be explained
 * @param boost of the query: the score of the first hit; 0 where a {@code rescore} changed scores
 */
record SearchReport(Map<String, Object> values, List<RescoreAnswer.Hit> ranked, float boost) {

  static SearchReport ranked(
      RescoreAnswer answer,
      List<RescoreAnswer.Hit> ranked,
      List<Map<String, Object>> missing,
      float boost) {
    Map<String, Object> values = new LinkedHashMap<>();
    values.put("status", "rescored");
    values.put("profile", answer.profile());
    values.put("candidates", answer.results().size());
    values.put("service_ms", answer.totalMillis());
    values.putAll(answer.notes());
    List<Map<String, Object>> degraded = new ArrayList<>(answer.degraded());
    degraded.addAll(missing);
    if (!degraded.isEmpty()) {
      values.put("degraded", degraded);
    }
    return new SearchReport(values, ranked, boost);
  }

  /** Nobody ranked; {@code how} says in which order the documents are. */
  static SearchReport unranked(RescoreFailure failure, String how) {
    Map<String, Object> values = new LinkedHashMap<>();
    values.put("status", "degraded");
    values.put("reason", failure.reason().code());
    values.put("message", failure.getMessage());
    values.put("degraded", List.of(Map.of("stage", "rescorer", "reason", how)));
    return new SearchReport(values, List.of(), 1f);
  }

  SearchResponse on(SearchResponse response, double tookMillis) {
    Map<String, Object> all = new LinkedHashMap<>(values);
    all.put("took_ms", Math.round(tookMillis * 1e3) / 1e3);
    SearchHits hits = response.getHits();
    if (!ranked.isEmpty()) {
      all.put("hits", Arrays.stream(hits.getHits()).map(this::explained).toList());
    }
    return Responses.with(
        response,
        List.of(hits.getHits()),
        hits.getTotalHits(),
        hits.getMaxScore(),
        Math.round(tookMillis),
        new ReportExt(all));
  }

  private Map<String, Object> explained(SearchHit hit) {
    Map<String, Object> values = new LinkedHashMap<>();
    values.put("index", hit.getIndex());
    values.put("id", hit.getId());
    int rank = RankedQuery.rank(hit.getScore(), boost);
    if (rank < 1 || rank > ranked.size()) {
      return values; // sorted or scored by something else: nobody knows which it was
    }
    RescoreAnswer.Hit result = ranked.get(rank - 1);
    values.put("api", result.id());
    values.put("rank", rank);
    result.explain(values);
    return values;
  }
}
