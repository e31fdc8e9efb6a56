package org.kitpick.opensearch.wire;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The searches of one round, which find the same documents over and over: they bring names alone,
 * and every document is then read once, with the fields that any of them asks for. Reading is what
 * costs most in such a search.
 */
public final class SharedFields {

  private static final String SOURCE = "_source";

  /** No search may bring more than 10,000 hits. */
  private static final int AT_ONCE = 5_000;

  private final List<Map<?, ?>> searches;
  private final Set<String> fields = new LinkedHashSet<>();

  /** Of searches as the service wrote them. Fewer than two that name their fields share nothing. */
  public SharedFields(List<Map<?, ?>> searches) {
    List<Map<?, ?>> naming = searches.stream().filter(SharedFields::namesFields).toList();
    if (naming.size() < 2) {
      this.searches = searches;
      return;
    }
    for (Map<?, ?> search : naming) {
      ((Collection<?>) search.get(SOURCE)).forEach(field -> fields.add((String) field));
    }
    this.searches = searches.stream().map(each -> namesFields(each) ? bare(each) : each).toList();
  }

  /** The searches to run, in their order. */
  public List<Map<?, ?>> searches() {
    return searches;
  }

  /** What is read of each document; empty where every search reads for itself. */
  public Set<String> fields() {
    return Set.copyOf(fields);
  }

  /** The searches that read the documents of hits with these names. */
  public List<Map<?, ?>> reading(Collection<String> names) {
    List<String> all = List.copyOf(names);
    List<Map<?, ?>> reading = new ArrayList<>();
    for (int start = 0; start < all.size(); start += AT_ONCE) {
      reading.add(one(all.subList(start, Math.min(all.size(), start + AT_ONCE))));
    }
    return reading;
  }

  private Map<?, ?> one(List<String> names) {
    return Map.of(
        "size",
        names.size(),
        "query",
        Map.of("ids", Map.of("values", names)),
        "track_total_hits",
        false,
        SOURCE,
        List.copyOf(fields));
  }

  private static boolean namesFields(Map<?, ?> search) {
    return search.get(SOURCE) instanceof Collection<?> fields
        && fields.stream().allMatch(String.class::isInstance);
  }

  private static Map<?, ?> bare(Map<?, ?> search) {
    Map<Object, Object> bare = new HashMap<>(search);
    bare.put(SOURCE, false);
    return bare;
  }
}
