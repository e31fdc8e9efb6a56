package org.kitpick.opensearch.wire;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Body of the answer to {@code POST /v1/search}, checked: searches to run, or a ranking of what
 * they found.
 *
 * @param searches bodies of searches; empty where there is a ranking
 * @param ranking null where there are searches
 */
public record SearchAnswer(List<Map<?, ?>> searches, RescoreAnswer ranking) {

  /** One search for the whole request and its sentences, by words, by vector and counting. */
  private static final int MAX_SEARCHES = 64;

  /**
   * Reads an answer about documents with these ids.
   *
   * @throws InvalidAnswer for anything that is not one
   */
  public static SearchAnswer parse(byte[] body, Set<String> known) {
    JsonView json = JsonView.parsed(body);
    List<Map<?, ?>> searches = new ArrayList<>();
    for (Object search : json.list("searches")) {
      if (!(search instanceof Map<?, ?> map)) {
        throw new InvalidAnswer("answer.searches holds what is no object");
      }
      searches.add(map);
    }
    if (searches.size() > MAX_SEARCHES) {
      throw new InvalidAnswer("the answer asks for " + searches.size() + " searches");
    }
    if (searches.isEmpty()) {
      return new SearchAnswer(List.of(), RescoreAnswer.of(json.object("ranking"), known));
    }
    return new SearchAnswer(List.copyOf(searches), null);
  }
}
