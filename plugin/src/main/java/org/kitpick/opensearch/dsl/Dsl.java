package org.kitpick.opensearch.dsl;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.opensearch.common.xcontent.XContentHelper;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.core.common.Strings;
import org.opensearch.core.xcontent.MediaTypeRegistry;
import org.opensearch.core.xcontent.ToXContent;

/**
 * Queries as parsed JSON. Other plugins' queries (k-NN, hybrid, neural) are classes this plugin
 * can't see, but all of them can be written as JSON.
 */
public final class Dsl {

  /** Queries of the form {@code {name: {field: {"query": text}}}}. */
  static final Set<String> FIELD_TEXT =
      Set.of("match", "match_phrase", "match_phrase_prefix", "match_bool_prefix");

  /** Queries of the form {@code {name: {"query": text, "fields": […]}}}. */
  static final Set<String> FIELDS_TEXT = Set.of("multi_match", "combined_fields");

  private Dsl() {}

  /** The JSON of a query or a whole search body; null for null. */
  public static Map<String, Object> asMap(ToXContent object) {
    if (object == null) {
      return null;
    }
    String json = Strings.toString(MediaTypeRegistry.JSON, object);
    return XContentHelper.convertToMap(JsonXContent.jsonXContent, json, false);
  }

  /** The text that a text query looks for, null where {@code body} is of another form. */
  static String textOf(String name, Object body) {
    if (!(body instanceof Map<?, ?> map)) {
      return null;
    }
    if (FIELDS_TEXT.contains(name)) {
      return stringOrNull(map.get("query"));
    }
    if (!FIELD_TEXT.contains(name) || map.size() != 1) {
      return null;
    }
    Object field = map.values().iterator().next();
    return field instanceof Map<?, ?> options
        ? stringOrNull(options.get("query"))
        : stringOrNull(field);
  }

  /** A clause or a list of clauses, as a list. */
  static List<?> clauses(Object value) {
    if (value == null) {
      return List.of();
    }
    return value instanceof List<?> list ? list : List.of(value);
  }

  static String stringOrNull(Object value) {
    return value instanceof String text ? text : null;
  }
}
