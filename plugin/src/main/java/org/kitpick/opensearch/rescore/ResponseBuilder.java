package org.kitpick.opensearch.rescore;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.lucene.search.Explanation;
import org.apache.lucene.search.TotalHits;
import org.kitpick.opensearch.guard.RescoreFailure;
import org.kitpick.opensearch.rescore.Ranking.Placed;
import org.kitpick.opensearch.server.Server;
import org.kitpick.opensearch.wire.RescoreAnswer;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.search.SearchHit;
import org.opensearch.search.SearchHits;

/** Writes the response that the user gets: the page, and the truth about it in the ext. */
final class ResponseBuilder {

  private final SearchResponse response;
  private final Page page;
  private final Options options;
  private final int maxWindow;
  private final String conflict;

  /** {@code conflict} says why vectors were left out; null where they were not. */
  ResponseBuilder(
      SearchResponse response, Page page, Options options, int maxWindow, String conflict) {
    this.response = response;
    this.page = page;
    this.options = options;
    this.maxWindow = maxWindow;
    this.conflict = conflict;
  }

  /** The first-stage order, because there was nothing to rescore. */
  SearchResponse skipped(SkipReason reason) {
    Map<String, Object> report = new LinkedHashMap<>();
    report.put("status", "skipped");
    report.put("reason", reason.code());
    if (reason.message() != null) {
      report.put("message", reason.message());
    }
    return firstStage(report);
  }

  /** The first-stage order, because rescoring failed. */
  SearchResponse original(RescoreFailure failure, double tookMillis) {
    Map<String, Object> report = new LinkedHashMap<>();
    report.put("status", "original");
    report.put("reason", failure.reason().code());
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
    return with(shown.stream().map(Placed::hit).toList(), total(order), maxScore, report);
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
    if (conflict != null) {
      degraded.add(Map.of("stage", "vectors", "reason", conflict));
    }
    for (String unread : ranking.documents().unread()) {
      degraded.add(Map.of("stage", "text", "reason", unread));
    }
    if (page.window(options) > maxWindow) {
      degraded.add(Map.of("stage", "window", "reason", "kitpick.max_window is " + maxWindow));
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
  private float scored(List<Placed> order) {
    boolean explains = hits().stream().anyMatch(hit -> hit.getExplanation() != null);
    float lowest = Float.POSITIVE_INFINITY;
    for (Placed placed : order) {
      if (placed.result() != null) {
        lowest = Math.min(lowest, placed.result().score());
      }
      placed.hit().score(Float.isFinite(lowest) ? lowest : Float.NaN);
      if (explains && Float.isFinite(lowest)) {
        placed.hit().explanation(explanation(placed));
      }
    }
    return order.isEmpty() ? Float.NaN : order.get(0).hit().getScore();
  }

  /** The score that the hit has now, and beneath it how the first stage came to its own. */
  private static Explanation explanation(Placed placed) {
    Explanation before = placed.hit().getExplanation();
    Explanation first =
        before == null ? Explanation.noMatch("fetched for the rescorer, not scored") : before;
    String why =
        placed.result() != null && placed.result().score() == placed.hit().getScore()
            ? "score of the rescorer, instead of:"
            : "no more than the hit before it has, instead of:";
    return Explanation.match(placed.hit().getScore(), why, first);
  }

  /**
   * Fetched documents are more hits. How many of them the query finds as well is certain only if
   * all that it finds are here.
   */
  private TotalHits total(List<Placed> order) {
    TotalHits found = response.getHits().getTotalHits();
    long added = order.size() - (long) hits().size();
    if (found == null || added == 0 || !Server.areAll(found)) {
      return found;
    }
    return Server.count(found) == hits().size()
        ? new TotalHits(order.size(), TotalHits.Relation.EQUAL_TO)
        : new TotalHits(Server.count(found), TotalHits.Relation.GREATER_THAN_OR_EQUAL_TO);
  }

  private SearchResponse firstStage(Map<String, Object> report) {
    SearchHits all = response.getHits();
    return with(cut(hits()), all.getTotalHits(), all.getMaxScore(), report);
  }

  private SearchResponse with(
      List<SearchHit> shown, TotalHits total, float maxScore, Map<String, Object> report) {
    shown.forEach(page.shown()::restore);
    long ours = report.get("took_ms") instanceof Double took ? Math.round(took) : 0;
    return Responses.with(
        response,
        shown,
        total,
        maxScore,
        response.getTook().millis() + ours,
        new ReportExt(report));
  }

  private List<SearchHit> hits() {
    return Arrays.asList(response.getHits().getHits());
  }

  /**
   * Only a widened response holds more than the page; any other starts with it. The next page of a
   * scroll begins behind what was found, so nothing is left out of the first.
   */
  private <T> List<T> cut(List<T> whole) {
    boolean all = options.k() == null || response.getScrollId() != null;
    int limit = all ? page.size() : Math.min(page.size(), options.k());
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
