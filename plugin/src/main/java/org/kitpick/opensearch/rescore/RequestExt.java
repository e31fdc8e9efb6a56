package org.kitpick.opensearch.rescore;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.opensearch.OpenSearchParseException;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.core.common.io.stream.StreamInput;
import org.opensearch.core.xcontent.XContentParser;
import org.opensearch.core.xcontent.XContentParser.Token;
import org.opensearch.search.builder.SearchSourceBuilder;

/** {@code "ext": {"kitpick": {…}}} of a search: the request's own {@link Options}. */
public final class RequestExt extends SectionExt {

  /** Name of the section. */
  public static final String NAME = "kitpick";

  private final Options options;

  private final Set<String> unknown;

  private RequestExt(Map<String, Object> values) {
    super(Map.copyOf(values));
    Map<String, Object> rest = new HashMap<>(values);
    this.options = Options.read("ext", NAME, rest);
    this.unknown = rest.keySet();
  }

  /** From another node, which may be of a version that knows more options. */
  public RequestExt(StreamInput in) throws IOException {
    this(in.readMap());
  }

  /** From the request's body. */
  public static RequestExt fromXContent(XContentParser parser) throws IOException {
    Token first = parser.currentToken();
    if (first != null && first != Token.START_OBJECT && first != Token.VALUE_NULL) {
      throw new OpenSearchParseException("ext.kitpick is an object");
    }
    Map<String, Object> values = parser.map();
    values.values().removeIf(Objects::isNull);
    RequestExt ext = new RequestExt(values);
    if (!ext.unknown.isEmpty()) {
      throw new OpenSearchParseException("ext.kitpick knows no {}", ext.unknown);
    }
    return ext;
  }

  /** A section that asks for what every stage of the rescorer did. */
  public static RequestExt tracing(String profile) {
    return new RequestExt(
        profile == null ? Map.of("trace", true) : Map.of("trace", true, "profile", profile));
  }

  /** The options of this request, none where it has no such section. */
  public static Options optionsOf(SearchRequest request) {
    SearchSourceBuilder source = request.source();
    RequestExt own = source == null ? null : in(source.ext(), RequestExt.class);
    return own == null ? Options.NONE : own.options;
  }

  @Override
  public String getWriteableName() {
    return NAME;
  }
}
