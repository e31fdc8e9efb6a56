package org.kitpick.opensearch.wire;

import static java.util.Comparator.reverseOrder;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.kitpick.opensearch.server.Totals;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.core.common.bytes.BytesReference;
import org.opensearch.core.xcontent.ToXContent;
import org.opensearch.core.xcontent.XContentBuilder;
import org.opensearch.search.SearchHit;

/**
 * What the searches of one catalog search found, as the service reads it. A document is found by
 * several of them: its texts and its vector are read once ({@link SharedFields}) and written once,
 * and after that only its id and what is new about it. Of an answer only that is kept; its hits can
 * be forgotten.
 */
public final class FoundDocuments {

  private static final String ID = "id";

  /** Of reciprocal rank fusion: how much less the first places count than by rank alone. */
  private static final int DAMPING = 60;

  private final List<byte[]> rounds = new ArrayList<>();
  private final Map<String, Set<String>> written = new HashMap<>();
  private final Map<String, Double> fused = new HashMap<>();

  /** Documents that were read apart from the searches that found them, by the name of their hit. */
  private final Map<String, Map<String, Object>> read = new HashMap<>();

  private final Set<String> readFields = new HashSet<>();
  private boolean lost;

  /** The names of hits without a source whose documents were not read with all of these fields. */
  public Set<String> unread(List<SearchResponse> answers, Set<String> fields) {
    Set<String> unread = new LinkedHashSet<>();
    boolean known = readFields.containsAll(fields);
    for (SearchResponse answer : answers) {
      for (SearchHit hit : answer.getHits().getHits()) {
        if (!hit.hasSource() && !(known && read.containsKey(hit.getId()))) {
          unread.add(hit.getId());
        }
      }
    }
    return unread;
  }

  /** Takes the documents that were read for hits without a source. */
  public void read(SearchResponse documents, Set<String> fields) {
    readFields.addAll(fields);
    for (SearchHit hit : documents.getHits().getHits()) {
      read.put(hit.getId(), hit.getSourceAsMap());
    }
  }

  /** Whether a document was gone when it was read, so that the rankings are without it. */
  public boolean lost() {
    return lost;
  }

  /** The answers to the searches of one round, in their order. Those of the first are rankings. */
  public void add(List<SearchResponse> answers) {
    if (rounds.isEmpty()) {
      answers.forEach(this::fuse);
    }
    try (XContentBuilder json = JsonXContent.contentBuilder()) {
      json.startArray();
      for (SearchResponse answer : answers) {
        write(json, answer);
      }
      rounds.add(BytesReference.toBytes(BytesReference.bytes(json.endArray())));
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a builder over memory reads and writes nothing else
    }
  }

  /** How many rounds of searches there were. */
  public int rounds() {
    return rounds.size();
  }

  /** The ids of all documents so far. */
  public Set<String> ids() {
    return Set.copyOf(written.keySet());
  }

  /**
   * The ids of what the first round found, best first: all its rankings fused by their ranks alone
   * (Cormack, Clarke and Buettcher, SIGIR 2009), ties by id. Empty before that round.
   */
  public List<String> fused() {
    Comparator<Map.Entry<String, Double>> best = Map.Entry.comparingByValue(reverseOrder());
    return fused.entrySet().stream()
        .sorted(best.thenComparing(Map.Entry.comparingByKey()))
        .map(Map.Entry::getKey)
        .toList();
  }

  private void fuse(SearchResponse ranking) {
    SearchHit[] hits = ranking.getHits().getHits();
    for (int i = 0; i < hits.length; i++) {
      Map<String, Object> source = source(hits[i]);
      if (source != null && source.get(ID) instanceof String id) {
        fused.merge(id, 1.0 / (DAMPING + i + 1), Double::sum);
      }
    }
  }

  /** Each round as JSON. */
  List<byte[]> json() {
    return rounds;
  }

  private void write(XContentBuilder json, SearchResponse answer) throws IOException {
    json.startObject().field("timed_out", answer.isTimedOut()).startObject("hits");
    if (answer.getHits().getTotalHits() != null) {
      json.startObject("total")
          .field("value", Totals.of(answer.getHits().getTotalHits()))
          .endObject();
    }
    json.startArray("hits");
    for (SearchHit hit : answer.getHits().getHits()) {
      Map<String, Object> source = source(hit);
      if (source == null) {
        lost = true;
        continue;
      }
      json.startObject();
      write(json, source);
      if (!hit.hasSource() && source.get(ID) instanceof String id) {
        read.put(hit.getId(), Map.of(ID, id));
      }
      json.endObject();
    }
    json.endArray().endObject();
    if (answer.getAggregations() != null) {
      answer.getAggregations().toXContent(json, ToXContent.EMPTY_PARAMS);
    }
    json.endObject();
  }

  private Map<String, Object> source(SearchHit hit) {
    return hit.hasSource() ? hit.getSourceAsMap() : read.get(hit.getId());
  }

  /** A source without what was written of this document before. Objects may hold other parts. */
  private void write(XContentBuilder json, Map<String, Object> source) throws IOException {
    Set<String> before =
        source.get(ID) instanceof String id
            ? written.computeIfAbsent(id, key -> new HashSet<>())
            : new HashSet<>();
    json.startObject("_source");
    for (Map.Entry<String, Object> field : source.entrySet()) {
      boolean whole = !(field.getValue() instanceof Map);
      if (!whole || before.add(field.getKey()) || ID.equals(field.getKey())) {
        json.field(field.getKey(), field.getValue());
      }
    }
    json.endObject();
  }
}
