package org.kitpick.opensearch.rescore;

import java.util.Arrays;
import java.util.Map;
import org.opensearch.OpenSearchParseException;
import org.opensearch.ingest.ConfigurationUtils;

/**
 * What a pipeline sets as default and a request may say otherwise, in {@code ext.kitpick}. Null:
 * not said.
 *
 * @param queryPath where in the search body it stands, e.g. {@code query.match.title.query}
 * @param profile name of a profile (String) or its stages (Map)
 * @param vectorModel identity of the model that made query and document vectors
 * @param deadlineMillis for everything this plugin does; the node's own deadline is the upper bound
 * @param rounds how often documents are fetched that the service asks for
 * @param explain whether the ext says for each hit why it stands where it does
 * @param trace whether the ext says what every stage of the rescorer did
 */
public record Options(
    String query,
    String queryPath,
    Object profile,
    String vectorModel,
    Integer k,
    Integer window,
    Integer deadlineMillis,
    OnFailure onFailure,
    Integer rounds,
    Boolean explain,
    Boolean trace) {

  /** What a search answers when it could not be rescored. */
  public enum OnFailure {
    /** The first-stage order, and the ext says so. */
    ORIGINAL,
    /** An error. */
    FAIL
  }

  static final int MAX_WINDOW = 1_000;
  private static final int MAX_ROUNDS = 5;
  private static final int MAX_DEADLINE_MILLIS = 600_000;

  /** Every way to cut a path at its dots is tried. */
  private static final int MAX_PATH = 1_000;

  static final Options NONE =
      new Options(null, null, null, null, null, null, null, null, null, null, null);

  static final Options DEFAULTS =
      new Options(null, null, null, null, null, 50, null, OnFailure.ORIGINAL, 2, true, false);

  /** Takes its keys out of {@code values}; what is left over is for the caller to judge. */
  static Options read(String type, String tag, Map<String, Object> values) {
    return new Options(
        text(type, tag, values, "query"),
        path(type, tag, values),
        profile(values),
        text(type, tag, values, "vector_model"),
        within(values, "k", 0, Integer.MAX_VALUE),
        within(values, "window", 1, MAX_WINDOW),
        within(values, "deadline_ms", 1, MAX_DEADLINE_MILLIS),
        onFailure(text(type, tag, values, "on_failure")),
        within(values, "rounds", 0, MAX_ROUNDS),
        truth(values, "explain"),
        truth(values, "trace"));
  }

  /** These where said, the others where not. */
  Options over(Options defaults) {
    return new Options(
        or(query, defaults.query),
        or(queryPath, defaults.queryPath),
        or(profile, defaults.profile),
        or(vectorModel, defaults.vectorModel),
        or(k, defaults.k),
        or(window, defaults.window),
        or(deadlineMillis, defaults.deadlineMillis),
        or(onFailure, defaults.onFailure),
        or(rounds, defaults.rounds),
        or(explain, defaults.explain),
        or(trace, defaults.trace));
  }

  private static <T> T or(T said, T otherwise) {
    return said != null ? said : otherwise;
  }

  private static String text(String type, String tag, Map<String, Object> values, String name) {
    return ConfigurationUtils.readOptionalStringProperty(type, tag, values, name);
  }

  private static String path(String type, String tag, Map<String, Object> values) {
    String path = text(type, tag, values, "query_path");
    if (path == null || path.length() <= MAX_PATH) {
      return path;
    }
    throw new OpenSearchParseException("[query_path] has at most {} characters", MAX_PATH);
  }

  private static Object profile(Map<String, Object> values) {
    Object profile = values.remove("profile");
    if (profile == null || profile instanceof String || profile instanceof Map<?, ?>) {
      return profile;
    }
    throw new OpenSearchParseException(
        "[profile] is the name of a profile, or an object of stages");
  }

  private static Integer within(Map<String, Object> values, String name, int least, int most) {
    Object value = values.remove(name);
    if (value == null) {
      return null;
    }
    if (value instanceof Integer number && number >= least && number <= most) {
      return number;
    }
    throw new OpenSearchParseException("[{}] is a whole number from {} to {}", name, least, most);
  }

  private static Boolean truth(Map<String, Object> values, String name) {
    Object value = values.remove(name);
    if (value == null || value instanceof Boolean) {
      return (Boolean) value;
    }
    throw new OpenSearchParseException("[{}] is true or false", name);
  }

  private static OnFailure onFailure(String name) {
    if (name == null) {
      return null;
    }
    return Arrays.stream(OnFailure.values())
        .filter(each -> each.name().equalsIgnoreCase(name))
        .findFirst()
        .orElseThrow(() -> new OpenSearchParseException("[on_failure] is original or fail"));
  }
}
