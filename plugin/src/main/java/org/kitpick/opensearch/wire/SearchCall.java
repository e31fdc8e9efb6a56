package org.kitpick.opensearch.wire;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.IntPredicate;
import java.util.zip.Deflater;
import java.util.zip.GZIPOutputStream;

/**
 * Body of {@code POST /v1/search}.
 *
 * @param index name of the catalog's live index
 * @param committed the query for the documents of its committed state
 * @param k how many hits the user wants, earlier pages included
 * @param tenant whose documents are visible; empty for no tenant
 * @param filter what every document must match; null for nothing
 * @param profile name of a profile (String) or its stages (Map); null for the service's default
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

  private String head(int protocol, long deadlineMillis) {
    Map<String, Object> head = new LinkedHashMap<>();
    head.put("protocol", protocol);
    head.put("query", query);
    head.put("index", index);
    head.put("committed", committed);
    head.put("k", k);
    head.put("tenant", tenant);
    head.put("principals", principals);
    head.put("filter", filter);
    head.put("profile", profile);
    head.put("explain", explain ? true : null);
    head.put("deadline_ms", Math.max(1, deadlineMillis));
    head.values().removeIf(Objects::isNull);
    return Json.of(json -> json.map(head)).utf8ToString();
  }

  /** Most of a body are texts and ids: little time makes them a quarter. */
  private static final class FastGzip extends GZIPOutputStream {

    FastGzip(OutputStream out) throws IOException {
      super(out);
      def.setLevel(Deflater.BEST_SPEED);
    }
  }
}
