package org.kitpick.opensearch.wire;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.function.IntPredicate;
import java.util.zip.Deflater;
import java.util.zip.GZIPOutputStream;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.core.xcontent.XContentBuilder;

/**
 * Body of {@code POST /v1/search}.
 *
 * @param query what is wanted, in words
 * @param index name of the catalog's live index
 * @param committed the query for the documents of its committed state
 * @param k how many hits the user wants, earlier pages included
 * @param tenant whose documents are visible; empty for no tenant
 * @param principals who asks
 * @param filter what every document must match; null for nothing
 * @param profile name of a profile (String) or its stages (Map); null for the service's default
 * @param explain whether the answer says what every stage did
 */
public record SearchCall(
    String query,
    String index,
    Map<String, Object> committed,
    int k,
    String tenant,
    List<String> principals,
    Map<String, Object> filter,
    Object profile,
    boolean explain) {

  /**
   * The body as UTF-8 JSON, compressed.
   *
   * @param found what the search engine answered to the searches of each earlier answer
   * @param protocol of the newest answer
   * @param whole the numbers of documents that are sent in full, not as hashes
   * @param deadlineMillis after which the answer is of no use
   */
  public byte[] toJson(
      FoundDocuments found, int protocol, IntPredicate whole, long deadlineMillis) {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    try (Writer out = new OutputStreamWriter(new FastGzip(body), StandardCharsets.UTF_8)) {
      String head = head(protocol, deadlineMillis);
      out.write(head, 0, head.length() - 1);
      found.write(out, protocol, whole);
      out.write("}");
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a stream into memory reads and writes nothing else
    }
    return body.toByteArray();
  }

  private String head(int protocol, long deadlineMillis) throws IOException {
    try (XContentBuilder json = JsonXContent.contentBuilder()) {
      json.startObject().field("protocol", protocol).field("query", query).field("index", index);
      json.field("committed", committed).field("k", k);
      json.field("tenant", tenant).field("principals", principals);
      if (filter != null) {
        json.field("filter", filter);
      }
      if (profile != null) {
        json.field("profile", profile);
      }
      if (explain) {
        json.field("explain", true);
      }
      return json.field("deadline_ms", Math.max(1, deadlineMillis)).endObject().toString();
    }
  }

  /** Most of a body are texts and ids: little time makes them a quarter. */
  private static final class FastGzip extends GZIPOutputStream {

    FastGzip(OutputStream out) throws IOException {
      super(out);
      def.setLevel(Deflater.BEST_SPEED);
    }
  }
}
