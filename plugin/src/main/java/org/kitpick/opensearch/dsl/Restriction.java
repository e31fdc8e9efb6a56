package org.kitpick.opensearch.dsl;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * What a query restricts, apart from what it scores: a document that the rescorer asks for must be
 * one that this search could have found. Permission filters often live in the query, so this must
 * never let more through.
 *
 * <p>Only two leaves are taken as scoring alone: a text query for exactly the text that is sent to
 * the rescorer, and a {@code knn} query without its filter; and of those that must all match, only
 * one. Whatever is not understood is kept, as a filter, as it stands.
 */
public final class Restriction {

  private final String queryText;

  private Restriction(String queryText) {
    this.queryText = queryText;
  }

  /** The restriction that {@code query} makes, or null where it makes none. */
  public static Map<String, Object> of(Map<String, Object> query, String queryText) {
    return query == null ? null : new Restriction(queryText).restrict(query);
  }

  private Map<String, Object> restrict(Object query) {
    Map<String, Object> whole = checked(query);
    if (whole.size() != 1) {
      return whole;
    }
    Map.Entry<String, Object> only = whole.entrySet().iterator().next();
    String name = only.getKey();
    Object body = only.getValue();
    if (Objects.equals(Dsl.textOf(name, body), queryText) && queryText != null) {
      return null;
    }
    return switch (name) {
      case "match_all" -> null;
      case "knn" -> ofKnn(whole, body);
      case "bool" -> ofBool(checked(body));
      case "dis_max" -> any(Dsl.clauses(checked(body).get("queries")));
      case "hybrid" -> ofHybrid(checked(body));
      case "function_score", "script_score" -> ofScript(whole, checked(body));
      default -> whole;
    };
  }

  private Map<String, Object> ofKnn(Map<String, Object> whole, Object body) {
    Map<String, Object> fields = checked(body);
    Map<String, Object> options = null;
    for (Object value : fields.values()) {
      if (value instanceof Map<?, ?> map && map.containsKey("vector")) {
        options = options == null ? checked(map) : Map.of();
      }
    }
    if (options == null || options.isEmpty()) {
      return whole;
    }
    return options.get("filter") == null ? null : checked(options.get("filter"));
  }

  /** The wrapped query decides what is found, unless a least score does. */
  private Map<String, Object> ofScript(Map<String, Object> whole, Map<String, Object> body) {
    return body.get("query") == null || body.get("min_score") != null
        ? whole
        : restrict(body.get("query"));
  }

  private Map<String, Object> ofHybrid(Map<String, Object> body) {
    List<Object> filters = new ArrayList<>(Dsl.clauses(body.get("filter")));
    Map<String, Object> queries = any(Dsl.clauses(body.get("queries")));
    if (queries != null) {
      filters.add(queries);
    }
    return filters.isEmpty() ? null : Map.of("bool", Map.of("filter", filters));
  }

  private Map<String, Object> ofBool(Map<String, Object> body) {
    List<Object> filters = new ArrayList<>(Dsl.clauses(body.get("filter")));
    filters.addAll(ofMust(Dsl.clauses(body.get("must"))));
    Map<String, Object> should = ofShould(body);
    if (should != null) {
      filters.add(should);
    }
    Map<String, Object> kept = new LinkedHashMap<>();
    if (!filters.isEmpty()) {
      kept.put("filter", filters);
    }
    if (!Dsl.clauses(body.get("must_not")).isEmpty()) {
      kept.put("must_not", body.get("must_not"));
    }
    return kept.isEmpty() ? null : Map.of("bool", kept);
  }

  /**
   * Of several clauses that would all be set free, any may be a filter that happens to hold the
   * same text, such as the name of a tenant who searches for that: they are kept.
   */
  private List<?> ofMust(List<?> must) {
    List<Map<String, Object>> kept = new ArrayList<>();
    int free = 0;
    for (Object clause : must) {
      Map<String, Object> restriction = restrict(clause);
      free += clause.equals(restriction) || checked(clause).containsKey("match_all") ? 0 : 1;
      if (restriction != null) {
        kept.add(restriction);
      }
    }
    return free > 1 ? must : kept;
  }

  /** Where nothing else has to match, one clause must, also where the query says that none need. */
  private Map<String, Object> ofShould(Map<String, Object> body) {
    List<?> should = Dsl.clauses(body.get("should"));
    Object minimum = body.get("minimum_should_match");
    boolean none = minimum == null || "0".equals(minimum.toString());
    boolean others =
        !Dsl.clauses(body.get("must")).isEmpty() || !Dsl.clauses(body.get("filter")).isEmpty();
    if (should.isEmpty() || (none && others)) {
      return null;
    }
    if (!none && !"1".equals(minimum.toString())) {
      return Map.of("bool", Map.of("should", should, "minimum_should_match", minimum));
    }
    return any(should);
  }

  /** A document need satisfy only one of the clauses; one that restricts nothing sets all free. */
  private Map<String, Object> any(List<?> clauses) {
    List<Map<String, Object>> restrictions = new ArrayList<>();
    for (Object clause : clauses) {
      Map<String, Object> restriction = restrict(clause);
      if (restriction == null) {
        return null;
      }
      restrictions.add(restriction);
    }
    return restrictions.isEmpty()
        ? Map.of("match_none", Map.of())
        : Map.of("bool", Map.of("should", restrictions, "minimum_should_match", 1));
  }

  @SuppressWarnings("unchecked") // the keys of parsed JSON are texts
  private static Map<String, Object> checked(Object query) {
    if (query instanceof Map<?, ?> map) {
      return (Map<String, Object>) map;
    }
    throw new IllegalArgumentException("a query clause is no object");
  }
}
