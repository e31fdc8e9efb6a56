package org.toolrank.opensearch.rescore;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.opensearch.search.SearchHit;
import org.toolrank.opensearch.wire.RescoreAnswer;
import org.toolrank.opensearch.wire.RescoreAnswer.Result;

/**
 * The best list so far: an answer and the documents it is about.
 *
 * @param rounds how often documents were fetched for it
 * @param serviceMillis what the service says it took, all calls together
 * @param unanswered why what the service still wants was not fetched; null where nothing is open
 */
record Ranking(
    RescoreAnswer answer,
    Documents documents,
    int rounds,
    double serviceMillis,
    String unanswered) {

  /** A hit at its new place; {@code result} is null where the answer says nothing about it. */
  record Placed(SearchHit hit, Result result, Integer firstRank) {

    Map<String, Object> explained(int rank) {
      Map<String, Object> values = new LinkedHashMap<>();
      values.put("index", hit.getIndex());
      values.put("id", hit.getId());
      values.put("rank", rank);
      if (firstRank != null) {
        values.put("first_rank", firstRank);
        if (Float.isFinite(hit.getScore())) {
          values.put("first_score", hit.getScore());
        }
      } else {
        values.put("fetched", true);
      }
      if (result != null) {
        values.put("score", result.score());
        if (result.probability() != null) {
          values.put("probability", result.probability());
        }
        values.put("reasons", result.reasons());
      }
      return values;
    }
  }

  Ranking saying(String why) {
    return new Ranking(answer, documents, rounds, serviceMillis, why);
  }

  /**
   * The answer's order; then the hits of the window it left out, and those behind the window, as
   * they were: a service that forgets half of them must not make a search lose hits.
   */
  List<Placed> order(List<SearchHit> firstStage) {
    List<Placed> order = new ArrayList<>(firstStage.size());
    Set<SearchHit> placed = new HashSet<>();
    for (Result result : answer.results()) {
      SearchHit hit = documents.hit(result.id());
      order.add(new Placed(hit, result, documents.firstRank(result.id())));
      placed.add(hit);
    }
    for (int i = 0; i < firstStage.size(); i++) {
      if (!placed.contains(firstStage.get(i))) {
        order.add(new Placed(firstStage.get(i), null, i + 1));
      }
    }
    return order;
  }
}
