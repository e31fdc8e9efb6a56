package org.kitpick.opensearch.wire;

import static java.util.Comparator.reverseOrder;

import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import org.kitpick.opensearch.server.Server;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.common.hash.MessageDigests;
import org.opensearch.core.xcontent.ToXContent;
import org.opensearch.search.SearchHit;

/**
 * What the searches of one catalog search found, as the service reads it. A document is found by
 * several of them, and by other queries: what it holds for all of these is its content, which is
 * read once ({@link SharedFields}) and written apart, in full or as its hash. Of an answer only
 * that is kept; its hits can be forgotten.
 */
public final class FoundDocuments {

  /** Of the protocol in which documents are written apart from the hits. */
  static final int APART = 2;

  private static final String ID = "id";
  private static final String NOTHING = "{}";

  /**
   * Of SHA-256; the service computes the same, and says why so few are safe. They are 20 digits of
   * base64, without a rest.
   */
  private static final int HASH_BYTES = 15;

  /** Of reciprocal rank fusion: how much less the first places count than by rank alone. */
  private static final int DAMPING = 60;

  /** What does not depend on the query, as JSON; {@code bare} has the id alone. */
  private record Document(String hash, String content, String bare) {}

  /** A hit: its id, if it has one, the number of its document, and what is the query's as JSON. */
  private record Hit(String id, int document, String own) {}

  /** An answer: its hits, and all but these as JSON. */
  private record Answer(String frame, long total, List<Hit> hits) {}

  private final List<List<Answer>> rounds = new ArrayList<>();
  private final List<Document> documents = new ArrayList<>();
  private final Map<String, Integer> numbers = new HashMap<>();
  private final Set<String> ids = new HashSet<>();
  private final Map<String, Double> fused = new HashMap<>();

  /** Documents that were read apart from the searches that found them, by the name of their hit. */
  private final Map<String, Hit> read = new HashMap<>();

  private final Set<String> readFields = new HashSet<>();
  private boolean lost;
  private long characters;

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
  public void read(SearchResponse found, Set<String> fields) {
    readFields.addAll(fields);
    for (SearchHit hit : found.getHits().getHits()) {
      read.put(hit.getId(), taken(hit.getSourceAsMap()));
    }
  }

  /** Whether a document was gone when it was read, so that the rankings are without it. */
  public boolean lost() {
    return lost;
  }

  /** The answers to the searches of one round, in their order. Those of the first are rankings. */
  public void add(List<SearchResponse> answers) {
    List<Answer> round = answers.stream().map(this::answer).toList();
    if (rounds.isEmpty()) {
      round.forEach(this::fuse);
    }
    rounds.add(round);
  }

  /** About how many bytes the documents take. */
  public long bytes() {
    return characters;
  }

  /** How many rounds of searches there were. */
  public int rounds() {
    return rounds.size();
  }

  /** The ids of all documents so far. */
  public Set<String> ids() {
    return Set.copyOf(ids);
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

  private void fuse(Answer ranking) {
    for (int i = 0; i < ranking.hits().size(); i++) {
      String id = ranking.hits().get(i).id();
      if (id != null) {
        fused.merge(id, 1.0 / (DAMPING + i + 1), Double::sum);
      }
    }
  }

  private Answer answer(SearchResponse answer) {
    List<Hit> hits = new ArrayList<>();
    for (SearchHit each : answer.getHits().getHits()) {
      Hit hit = each.hasSource() ? taken(each.getSourceAsMap()) : read.get(each.getId());
      if (hit == null) {
        lost = true;
        continue;
      }
      if (!each.hasSource()) { // what is the query's is written once
        read.put(each.getId(), new Hit(hit.id(), hit.document(), NOTHING));
      }
      if (hit.id() != null) {
        ids.add(hit.id());
      }
      hits.add(hit);
    }
    boolean counted = answer.getHits().getTotalHits() != null;
    long total = counted ? Server.count(answer.getHits().getTotalHits()) : -1;
    return new Answer(frame(answer), total, hits);
  }

  private static String frame(SearchResponse answer) {
    return Json.of(
            json -> {
              json.startObject().field("timed_out", answer.isTimedOut());
              if (answer.getAggregations() != null) {
                answer.getAggregations().toXContent(json, ToXContent.EMPTY_PARAMS);
              }
              json.endObject();
            })
        .utf8ToString();
  }

  /** A source in two parts. Its objects hold what a query asked for, and differ from the next. */
  private Hit taken(Map<String, Object> source) {
    Map<String, Object> content = new TreeMap<>(source);
    content.values().removeIf(Map.class::isInstance);
    Map<String, Object> own = new TreeMap<>(source);
    own.keySet().removeAll(content.keySet());
    String id = source.get(ID) instanceof String name ? name : null;
    return new Hit(id, number(json(content), id), json(own));
  }

  private int number(String content, String id) {
    String hash = hash(content);
    Integer known = numbers.putIfAbsent(hash, documents.size());
    if (known != null) {
      return known;
    }
    characters += content.length();
    documents.add(new Document(hash, content, id == null ? NOTHING : json(Map.of(ID, id))));
    return documents.size() - 1;
  }

  private static String hash(String content) {
    MessageDigest sha = MessageDigests.sha256();
    byte[] whole = sha.digest(content.getBytes(StandardCharsets.UTF_8));
    return Base64.getUrlEncoder().encodeToString(Arrays.copyOf(whole, HASH_BYTES));
  }

  private static String json(Map<String, Object> map) {
    return Json.of(json -> json.map(map)).utf8ToString();
  }

  /** Writes fields of an object that has some: all rounds, and the documents if they are apart. */
  void write(Writer out, int protocol, IntPredicate whole) throws IOException {
    if (protocol >= APART) {
      out.write(",\"documents\":[");
      for (int i = 0; i < documents.size(); i++) {
        Document each = documents.get(i);
        out.write(i == 0 ? "" : ",");
        out.write(whole.test(i) ? each.content() : "\"" + each.hash() + "\"");
      }
      out.write("]");
    }
    out.write(",\"found\":[");
    Set<Integer> written = new HashSet<>();
    for (int i = 0; i < rounds.size(); i++) {
      out.write(i == 0 ? "[" : ",[");
      write(out, rounds.get(i), hit -> protocol >= APART ? apart(hit) : inside(hit, written));
      out.write("]");
    }
    out.write("]");
  }

  private static void write(Writer out, List<Answer> round, Function<Hit, String> written)
      throws IOException {
    for (int i = 0; i < round.size(); i++) {
      Answer answer = round.get(i);
      String total = answer.total() < 0 ? "" : "\"total\":{\"value\":" + answer.total() + "},";
      out.write(i == 0 ? "" : ",");
      out.write(opened(answer.frame()) + ",\"hits\":{" + total + "\"hits\":[");
      out.write(answer.hits().stream().map(written).collect(Collectors.joining(",")));
      out.write("]}}");
    }
  }

  private static String apart(Hit hit) {
    String own = NOTHING.equals(hit.own()) ? "" : ",\"_source\":" + hit.own();
    return "{\"document\":" + hit.document() + own + "}";
  }

  /** The document stands in the first of its hits, and in the others its id. */
  private String inside(Hit hit, Set<Integer> written) {
    Document document = documents.get(hit.document());
    String source = written.add(hit.document()) ? document.content() : document.bare();
    return "{\"_source\":" + joined(source, hit.own()) + "}";
  }

  private static String joined(String one, String other) {
    if (NOTHING.equals(one) || NOTHING.equals(other)) {
      return NOTHING.equals(one) ? other : one;
    }
    return opened(one) + "," + other.substring(1);
  }

  /** An object's JSON without its end. */
  private static String opened(String object) {
    return object.substring(0, object.length() - 1);
  }
}
