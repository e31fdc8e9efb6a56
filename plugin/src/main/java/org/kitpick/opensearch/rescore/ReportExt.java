package org.kitpick.opensearch.rescore;

import java.io.IOException;
import java.util.Map;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.core.common.io.stream.StreamInput;
import org.opensearch.core.xcontent.XContentParser;

/** {@code "ext": {"kitpick": {…}}} of a response: what was done, what was not, and why. */
public final class ReportExt extends SectionExt {

  /** Registered name; in JSON the section is called as in the request. */
  public static final String NAME = "kitpick_report";

  /** With what the section holds. */
  public ReportExt(Map<String, Object> values) {
    super(values);
  }

  /** From another node. */
  public ReportExt(StreamInput in) throws IOException {
    this(in.readMap());
  }

  /** Only for clients that parse responses with this class. */
  public static ReportExt fromXContent(XContentParser parser) throws IOException {
    return new ReportExt(parser.map());
  }

  /** What the plugin says of a search in its response; empty where it says nothing. */
  public static Map<String, Object> of(SearchResponse response) {
    ReportExt report = in(response.getInternalResponse().getSearchExtBuilders(), ReportExt.class);
    return report == null ? Map.of() : report.values();
  }

  @Override
  public String getWriteableName() {
    return NAME;
  }
}
