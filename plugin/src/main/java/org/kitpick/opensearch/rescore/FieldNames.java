package org.kitpick.opensearch.rescore;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.opensearch.ingest.ConfigurationUtils;

/**
 * Which fields of a hit say what. The defaults are those of an index that kitpick has made.
 *
 * @param text joined by newlines, those that are there
 * @param toolKey what {@code need.apis_of_tools} names
 * @param vector the {@code knn_vector} that is searched; empty: no neighbours are
 * @param storedVector where a hit holds its vector, as numbers or base64; empty: none is sent
 * @param effect unknown, read, write or destructive
 */
record FieldNames(
    List<String> text,
    String category,
    String tool,
    String api,
    String toolKey,
    String vector,
    String storedVector,
    String deprecated,
    String effect,
    String needs,
    String gives) {

  static FieldNames read(String type, String tag, Map<String, Object> config) {
    String vector = name(type, tag, config, "vector_field", "");
    return new FieldNames(
        names(type, tag, config, "text_fields", List.of("text")),
        name(type, tag, config, "category_field", "category"),
        name(type, tag, config, "tool_field", "tool"),
        name(type, tag, config, "api_field", "api"),
        name(type, tag, config, "tool_key_field", "tool_key"),
        vector,
        name(type, tag, config, "stored_vector_field", vector),
        name(type, tag, config, "deprecated_field", "deprecated"),
        name(type, tag, config, "effect_field", "effect"),
        name(type, tag, config, "needs_field", "needs"),
        name(type, tag, config, "gives_field", "gives"));
  }

  /** Whether vectors are read or compared at all. */
  boolean holdVectors() {
    return !vector.isEmpty() || !storedVector.isEmpty();
  }

  /** The same names for a search that compares no vectors. */
  FieldNames withoutVectors() {
    return new FieldNames(
        text, category, tool, api, toolKey, "", "", deprecated, effect, needs, gives);
  }

  /**
   * A list of names.
   *
   * @throws org.opensearch.OpenSearchParseException something in the list is not a name
   */
  static List<String> names(
      String type, String tag, Map<String, Object> config, String key, List<String> otherwise) {
    List<?> given = ConfigurationUtils.readOptionalList(type, tag, config, key);
    if (given == null) {
      return otherwise;
    }
    List<String> names = new ArrayList<>(given.size());
    for (Object each : given) {
      if (!(each instanceof String name)) {
        throw ConfigurationUtils.newConfigurationException(type, tag, key, "is a list of names");
      }
      names.add(name);
    }
    return List.copyOf(names);
  }

  private static String name(
      String type, String tag, Map<String, Object> config, String key, String otherwise) {
    return ConfigurationUtils.readStringProperty(type, tag, config, key, otherwise);
  }
}
