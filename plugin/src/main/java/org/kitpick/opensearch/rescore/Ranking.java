package org.kitpick.opensearch.rescore;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.kitpick.opensearch.wire.RescoreAnswer;
import org.kitpick.opensearch.wire.RescoreAnswer.Hit;
import org.opensearch.search.SearchHit;

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
  record Placed(SearchHit hit, Hit result, Integer firstRank) {

    Map<String, Object> explained(int rank) {
      Map<String, Object> values = new LinkedHashMap<>();
      values.put("index", Documents.index(hit));
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
        result.explain(values);
      }
      return values;
    }
  }

  Ranking withUnanswered(String why) {
    return new Ranking(answer, documents, rounds, serviceMillis, why);
  }

  /**
   * The answer's order; then the hits of the window it left out, and those behind the window, as
   * they were: a service that forgets half of them must not make a search lose hits.
   */
  List<Placed> order(List<SearchHit> firstStage) {
    List<Placed> order = new ArrayList<>(firstStage.size());
    Set<SearchHit> placed = Collections.newSetFromMap(new IdentityHashMap<>());
    Map<List<String>, Integer> behind = behindWindow(firstStage);
    for (Hit result : answer.results()) {
      Integer rank = documents.firstRank(result.id());
      SearchHit hit = documents.hit(result.id());
      if (rank == null && behind.containsKey(Documents.identity(hit))) {
        rank = behind.get(Documents.identity(hit));
        hit = firstStage.get(rank - 1); // the same document, with what the query says about it
      }
      order.add(new Placed(hit, result, rank));
      placed.add(hit);
    }
    for (int i = 0; i < firstStage.size(); i++) {
      if (!placed.contains(firstStage.get(i))) {
        order.add(new Placed(firstStage.get(i), null, i + 1));
      }
    }
    return order;
  }

  /** First ranks of the hits behind the window: some of them may have been fetched as well. */
  private Map<List<String>, Integer> behindWindow(List<SearchHit> firstStage) {
    Map<List<String>, Integer> ranks = new HashMap<>();
    if (!documents.fetched().isEmpty()) {
      for (int i = documents.window().size(); i < firstStage.size(); i++) {
        ranks.put(Documents.identity(firstStage.get(i)), i + 1);
      }
    }
    return ranks;
  }
}
