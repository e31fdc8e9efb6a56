package org.kitpick.opensearch.wire;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.core.common.bytes.BytesReference;
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
   * The body as UTF-8 JSON.
   *
   * @param found what the search engine answered to the searches of each earlier answer
   * @param deadlineMillis after which the answer is of no use
   */
  public byte[] toJson(FoundDocuments found, long deadlineMillis) {
    try (XContentBuilder json = JsonXContent.contentBuilder()) {
      json.startObject().field("protocol", 1).field("query", query).field("index", index);
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
      json.field("deadline_ms", Math.max(1, deadlineMillis)).endObject();
      return with(BytesReference.toBytes(BytesReference.bytes(json)), found.json());
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a builder over memory reads and writes nothing else
    }
  }

  /** An object's JSON with one more field, {@code found}. */
  private static byte[] with(byte[] object, List<byte[]> rounds) {
    byte[] name = ",\"found\":[".getBytes(StandardCharsets.US_ASCII);
    int commas = Math.max(0, rounds.size() - 1);
    int inside = rounds.stream().mapToInt(round -> round.length).sum() + commas;
    ByteBuffer whole = ByteBuffer.allocate(object.length + name.length + inside + 1);
    whole.put(object, 0, object.length - 1).put(name);
    for (int i = 0; i < rounds.size(); i++) {
      whole.put(i == 0 ? new byte[0] : new byte[] {','}).put(rounds.get(i));
    }
    whole.put((byte) ']').put((byte) '}');
    return whole.array();
  }
}
