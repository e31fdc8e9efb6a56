package org.kitpick.opensearch.dsl;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Finds what was asked, in words, inside a search body. */
public final class QueryText {

  private static final Set<String> SYNTAX = Set.of("query_string", "simple_query_string");

  private final Set<String> texts = new LinkedHashSet<>();

  private QueryText() {}

  /** The text at a path such as {@code query.bool.must.0.match.title.query}, or null. */
  public static String at(Map<String, Object> body, String path) {
    return Dsl.stringOrNull(walk(body, path));
  }

  /**
   * The one text that the scoring part of the query looks for; null where there is none or several.
   */
  public static String only(Map<String, Object> query) {
    QueryText found = new QueryText();
    found.collect(query);
    return found.texts.size() == 1 ? found.texts.iterator().next() : null;
  }

  /** Field names may hold dots, so every way to cut the path is tried. */
  private static Object walk(Object value, String path) {
    if (path.isEmpty()) {
      return value;
    }
    for (int end = path.indexOf('.'); ; end = path.indexOf('.', end + 1)) {
      String head = end < 0 ? path : path.substring(0, end);
      Object next = step(value, head);
      Object found = next == null ? null : walk(next, end < 0 ? "" : path.substring(end + 1));
      if (found != null || end < 0) {
        return found;
      }
    }
  }

  private static Object step(Object value, String key) {
    if (value instanceof Map<?, ?> map) {
      return map.get(key);
    }
    if (value instanceof List<?> list && key.matches("\\d{1,4}")) {
      int index = Integer.parseInt(key);
      return index < list.size() ? list.get(index) : null;
    }
    return null;
  }

  private void collect(Object query) {
    if (!(query instanceof Map<?, ?> map)) {
      return;
    }
    map.forEach((name, body) -> collect(String.valueOf(name), body));
  }

  private void collect(String name, Object body) {
    add(Dsl.textOf(name, body));
    if (!(body instanceof Map<?, ?> options)) {
      return;
    }
    if (SYNTAX.contains(name)) {
      add(Dsl.stringOrNull(options.get("query")));
    } else if ("neural".equals(name)) {
      options.values().forEach(this::addNeural);
    } else {
      List.of("must", "should", "queries")
          .forEach(list -> Dsl.clauses(options.get(list)).forEach(this::collect));
      if (!Dsl.FIELDS_TEXT.contains(name)) {
        List.of("query", "positive").forEach(one -> collect(options.get(one)));
      }
    }
  }

  private void addNeural(Object field) {
    if (field instanceof Map<?, ?> options) {
      add(Dsl.stringOrNull(options.get("query_text")));
    }
  }

  private void add(String text) {
    if (text != null && !text.isBlank()) {
      texts.add(text);
    }
  }
}
