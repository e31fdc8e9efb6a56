package org.kitpick.opensearch.wire;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Body of the answer to {@code POST /v1/search}, checked: searches to run, documents to send in
 * full, or a ranking of what was found.
 *
 * @param protocol the newest that is spoken here and there
 * @param missing numbers of documents of which the service does not know the hash
 * @param searches bodies of searches
 * @param ranking null where there are searches or documents to send
 */
public record SearchAnswer(
    int protocol, Set<Integer> missing, List<Map<?, ?>> searches, RescoreAnswer ranking) {

  /** By words and by vector for the whole request and its sentences, and one that counts. */
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
    int protocol =
        json.has("protocol") ? (int) Math.min(FoundDocuments.APART, json.number("protocol")) : 1;
    Set<Integer> missing = new HashSet<>();
    for (Object number : json.list("missing")) {
      if (!(number instanceof Integer place)) {
        throw new InvalidAnswer("answer.missing holds what is no place");
      }
      missing.add(place);
    }
    boolean done = searches.isEmpty() && missing.isEmpty();
    return new SearchAnswer(
        protocol,
        missing,
        List.copyOf(searches),
        done ? RescoreAnswer.of(json.object("ranking"), known) : null);
  }
}
