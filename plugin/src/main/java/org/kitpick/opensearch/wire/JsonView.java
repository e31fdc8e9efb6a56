package org.kitpick.opensearch.wire;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.core.xcontent.DeprecationHandler;
import org.opensearch.core.xcontent.NamedXContentRegistry;
import org.opensearch.core.xcontent.XContentParser;

/**
 * Reads parsed JSON that nobody vouches for: a value of another kind is an {@link InvalidAnswer}.
 */
final class JsonView {

  private final Map<?, ?> values;
  private final String where;

  JsonView(Object value, String where) {
    if (!(value instanceof Map<?, ?> map)) {
      throw new InvalidAnswer(where + " is no object");
    }
    this.values = map;
    this.where = where;
  }

  /** The whole of a body. */
  static JsonView parsed(byte[] body) {
    try (XContentParser parser =
        JsonXContent.jsonXContent.createParser(
            NamedXContentRegistry.EMPTY, DeprecationHandler.IGNORE_DEPRECATIONS, body)) {
      Map<String, Object> map = parser.map();
      if (parser.nextToken() != null) {
        throw new InvalidAnswer("the answer goes on after its end");
      }
      return new JsonView(map, "answer");
    } catch (IOException | IllegalArgumentException | IllegalStateException e) {
      // Not its message: parsers quote the input, which holds what users ask.
      throw new InvalidAnswer("the answer is not JSON");
    }
  }

  boolean has(String name) {
    return values.get(name) != null;
  }

  JsonView object(String name) {
    return new JsonView(values.get(name), where + "." + name);
  }

  /** An absent list is an empty one. */
  List<?> list(String name) {
    Object value = values.get(name);
    if (value == null) {
      return List.of();
    }
    if (value instanceof List<?> list) {
      return list;
    }
    throw wrong(name, "list");
  }

  String text(String name) {
    if (values.get(name) instanceof String text) {
      return text;
    }
    throw wrong(name, "text");
  }

  String text(String name, String otherwise) {
    return has(name) ? text(name) : otherwise;
  }

  double number(String name) {
    if (values.get(name) instanceof Number number && Double.isFinite(number.doubleValue())) {
      return number.doubleValue();
    }
    throw wrong(name, "finite number");
  }

  Double optionalNumber(String name) {
    return has(name) ? number(name) : null;
  }

  boolean truth(String name) {
    return Boolean.TRUE.equals(values.get(name));
  }

  private InvalidAnswer wrong(String name, String wanted) {
    return new InvalidAnswer(where + "." + name + " is no " + wanted);
  }
}
