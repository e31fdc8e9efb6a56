package org.kitpick.opensearch.rescore;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.opensearch.core.common.io.stream.StreamOutput;
import org.opensearch.core.xcontent.XContentBuilder;
import org.opensearch.search.SearchExtBuilder;

/** A section {@code "ext": {"kitpick": {…}}}, of a search or of a response. */
abstract class SectionExt extends SearchExtBuilder {

  private final Map<String, Object> values;

  SectionExt(Map<String, Object> values) {
    this.values = values;
  }

  final Map<String, Object> values() {
    return values;
  }

  /** The section of this kind; null where there is none. */
  static <T extends SectionExt> T in(List<SearchExtBuilder> exts, Class<T> kind) {
    return exts.stream().filter(kind::isInstance).map(kind::cast).findFirst().orElse(null);
  }

  @Override
  public final void writeTo(StreamOutput out) throws IOException {
    out.writeMap(values);
  }

  @Override
  public final XContentBuilder toXContent(XContentBuilder builder, Params params)
      throws IOException {
    return builder.field(RequestExt.NAME, values);
  }

  @Override
  public final boolean equals(Object other) {
    return other instanceof SectionExt ext
        && getWriteableName().equals(ext.getWriteableName())
        && values.equals(ext.values);
  }

  @Override
  public final int hashCode() {
    return values.hashCode();
  }
}
