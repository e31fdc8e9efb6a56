package org.kitpick.opensearch.wire;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.opensearch.common.CheckedConsumer;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.core.common.bytes.BytesReference;
import org.opensearch.core.xcontent.XContentBuilder;

/** JSON that is written into memory. */
public final class Json {

  private Json() {}

  /** What is written, as UTF-8. */
  public static BytesReference of(CheckedConsumer<XContentBuilder, IOException> write) {
    try (XContentBuilder json = JsonXContent.contentBuilder()) {
      write.accept(json);
      return BytesReference.bytes(json);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a builder over memory reads and writes nothing else
    }
  }
}
