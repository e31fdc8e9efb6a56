package org.kitpick.opensearch.rescore;

import java.io.IOException;
import java.util.Map;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.core.common.io.stream.StreamInput;
import org.opensearch.core.common.io.stream.StreamOutput;
import org.opensearch.core.xcontent.XContentBuilder;
import org.opensearch.core.xcontent.XContentParser;
import org.opensearch.search.SearchExtBuilder;

/** {@code "ext": {"kitpick": {…}}} of a response: what was done, what was not, and why. */
public final class ReportExt extends SearchExtBuilder {

  /** Registered name; in JSON the section is called as in the request. */
  public static final String NAME = "kitpick_report";

  private final Map<String, Object> values;

  /** With what the section holds. */
  public ReportExt(Map<String, Object> values) {
    this.values = values;
  }

  /** From another node. */
  public ReportExt(StreamInput in) throws IOException {
    this(in.readMap());
  }

  /** Only for clients that parse responses with this class. */
  public static ReportExt fromXContent(XContentParser parser) throws IOException {
    return new ReportExt(parser.map());
  }

  Map<String, Object> values() {
    return values;
  }

  /** What the plugin says of a search in its response; empty where it says nothing. */
  public static Map<String, Object> of(SearchResponse response) {
    for (SearchExtBuilder ext : response.getInternalResponse().getSearchExtBuilders()) {
      if (ext instanceof ReportExt report) {
        return report.values;
      }
    }
    return Map.of();
  }

  @Override
  public String getWriteableName() {
    return NAME;
  }

  @Override
  public void writeTo(StreamOutput out) throws IOException {
    out.writeMap(values);
  }

  @Override
  public XContentBuilder toXContent(XContentBuilder builder, Params params) throws IOException {
    return builder.field(RequestExt.NAME, values);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ReportExt ext && values.equals(ext.values);
  }

  @Override
  public int hashCode() {
    return values.hashCode();
  }
}
