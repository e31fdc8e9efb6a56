package org.kitpick.opensearch.dsl;

import java.util.Collection;
import java.util.List;
import java.util.Map;

/** Finds the vector that a {@code knn} query anywhere in a search compares with a field. */
public final class QueryVector {

  private QueryVector() {}

  /** The first one for this field, as parsed JSON; null where there is none. */
  public static List<?> of(Object query, String field) {
    if (query instanceof Map<?, ?> map) {
      if (map.get("knn") instanceof Map<?, ?> knn
          && knn.get(field) instanceof Map<?, ?> options
          && options.get("vector") instanceof List<?> vector) {
        return vector;
      }
      return first(map.values(), field);
    }
    return query instanceof List<?> list ? first(list, field) : null;
  }

  private static List<?> first(Collection<?> parts, String field) {
    for (Object part : parts) {
      List<?> found = of(part, field);
      if (found != null) {
        return found;
      }
    }
    return null;
  }
}
