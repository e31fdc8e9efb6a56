package org.toolrank.opensearch.rescore;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.search.SearchHit;
import org.toolrank.opensearch.guard.RescoreFailure;
import org.toolrank.opensearch.rescore.Ranking.Placed;
import org.toolrank.opensearch.wire.RescoreAnswer;

/** Writes the response that the user gets: the page, and the truth about it in the ext. */
final class Answering {

  private final SearchResponse response;
  private final Page page;
  private final Options options;

  Answering(SearchResponse response, Page page, Options options) {
    this.response = response;
    this.page = page;
    this.options = options;
  }

  /** The first-stage order, because there was nothing to rescore. */
  SearchResponse skipped(Skip reason) {
    Map<String, Object> report = new LinkedHashMap<>();
    report.put("status", "skipped");
    report.put("reason", reason.code());
    return firstStage(report);
  }

  /** The first-stage order, because rescoring failed. */
  SearchResponse original(RescoreFailure failure, double tookMillis) {
    Map<String, Object> report = new LinkedHashMap<>();
    report.put("status", "original");
    report.put("reason", failure.trouble().code());
    report.put("message", failure.getMessage());
    report.put("took_ms", rounded(tookMillis));
    return firstStage(report);
  }

  /** The service's order. */
  SearchResponse rescored(Ranking ranking, double tookMillis) {
    List<Placed> order = ranking.order(hits());
    List<Placed> shown = cut(order);
    Map<String, Object> report = report(ranking, tookMillis);
    if (Boolean.TRUE.equals(options.explain())) {
      List<Object> explained = new ArrayList<>();
      for (Placed placed : shown) {
        explained.add(placed.explained(start() + explained.size() + 1));
      }
      report.put("hits", explained);
    }
    float maxScore = scored(order);
    return with(shown.stream().map(Placed::hit).toList(), maxScore, report);
  }

  private Map<String, Object> report(Ranking ranking, double tookMillis) {
    RescoreAnswer answer = ranking.answer();
    Map<String, Object> report = new LinkedHashMap<>();
    report.put("status", "rescored");
    report.put("profile", answer.profile());
    report.put("window", ranking.documents().window().size());
    report.put("took_ms", rounded(tookMillis));
    report.put("service_ms", rounded(ranking.serviceMillis()));
    report.put("rounds", ranking.rounds());
    if (!ranking.documents().fetched().isEmpty()) {
      report.put("fetched", ranking.documents().fetched().size());
    }
    report.putAll(answer.notes());
    List<Map<String, Object>> degraded = new ArrayList<>(answer.degraded());
    if (ranking.unanswered() != null) {
      degraded.add(Map.of("stage", "fetch", "reason", ranking.unanswered()));
    }
    if (!degraded.isEmpty()) {
      report.put("degraded", degraded);
    }
    return report;
  }

  /**
   * Sets scores that never rise down the list, as clients expect: a rule may put an API of lower
   * score before one of higher score, and then the higher one is shown with the lower score. The
   * ext has the true ones.
   */
  private static float scored(List<Placed> order) {
    float lowest = Float.POSITIVE_INFINITY;
    for (Placed placed : order) {
      if (placed.result() != null) {
        lowest = Math.min(lowest, placed.result().score());
      }
      placed.hit().score(Float.isFinite(lowest) ? lowest : Float.NaN);
    }
    return order.isEmpty() ? Float.NaN : order.get(0).hit().getScore();
  }

  private SearchResponse firstStage(Map<String, Object> report) {
    return with(cut(hits()), response.getHits().getMaxScore(), report);
  }

  private SearchResponse with(List<SearchHit> shown, float maxScore, Map<String, Object> report) {
    for (SearchHit hit : shown) {
      page.addedFields().forEach(hit::removeDocumentField);
    }
    return Responses.with(response, shown, maxScore, new ReportExt(report));
  }

  private List<SearchHit> hits() {
    return Arrays.asList(response.getHits().getHits());
  }

  /** Only a widened response holds more than the page; any other starts with it. */
  private <T> List<T> cut(List<T> whole) {
    int limit = options.k() == null ? page.size() : Math.min(page.size(), options.k());
    int from = Math.min(page.widened() ? page.from() : 0, whole.size());
    return whole.subList(from, Math.min(whole.size(), from + limit));
  }

  private int start() {
    return page.widened() ? page.from() : 0;
  }

  private static double rounded(double millis) {
    return Math.round(millis * 1e3) / 1e3;
  }
}
