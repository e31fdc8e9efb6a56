package org.kitpick.opensearch.wire;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.zip.GZIPInputStream;
import org.apache.lucene.search.TotalHits;
import org.kitpick.opensearch.wire.WireFixtures.Fixture;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.action.search.ShardSearchFailure;
import org.opensearch.common.xcontent.XContentHelper;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.core.common.bytes.BytesArray;
import org.opensearch.search.SearchHit;
import org.opensearch.search.SearchHits;
import org.opensearch.search.internal.InternalSearchResponse;
import org.opensearch.test.OpenSearchTestCase;

/** Calls and answers of a search that the service leads. */
public class SearchAnswerTests extends OpenSearchTestCase {

  private static SearchAnswer parsed(String json) {
    return SearchAnswer.parse(json.getBytes(StandardCharsets.UTF_8), Set.of("a", "b"));
  }

  public void testSearchesOrARanking() {
    assertEquals(List.of(Map.of("size", 3)), parsed("{\"searches\": [{\"size\": 3}]}").searches());
    SearchAnswer last =
        parsed(
            """
            {"searches": [], "ranking": {"profile": "p", "results": [{"id": "b", "score": 1}]}}""");
    assertTrue(last.searches().isEmpty());
    assertEquals("b", last.ranking().results().get(0).id());
  }

  public void testTheServicesAnswersAreRead() {
    for (Fixture fixture : WireFixtures.searches()) {
      SearchAnswer answer = SearchAnswer.parse(fixture.body(), Set.of("demo/weather/forecast"));
      assertEquals(fixture.name(), 2, answer.protocol());
      boolean unknown = fixture.name().equals("documents-unknown.json");
      assertEquals(fixture.name(), unknown ? Set.of(0) : Set.of(), answer.missing());
      boolean brought = fixture.call().containsKey("found") && !unknown;
      assertEquals(fixture.name(), brought || unknown, answer.searches().isEmpty());
      assertEquals(fixture.name(), brought, answer.ranking() != null);
    }
  }

  public void testTheServiceKnowsEveryFieldThatIsSent() {
    Set<Object> known = new HashSet<>();
    WireFixtures.searches().forEach(fixture -> known.addAll(fixture.call().keySet()));
    SearchCall call =
        new SearchCall(
            "q", "i", Map.of(), 10, "acme", List.of("ann"), Map.of("term", 1), "bm25", false);
    Map<String, Object> sent = sent(call, new FoundDocuments(), 2, Set.of());
    assertTrue(sent.keySet() + " in " + known, known.containsAll(sent.keySet()));
  }

  public void testWhatIsNeitherIsRefused() {
    String many = "{\"size\": 1},".repeat(64) + "{\"size\": 1}";
    for (String body :
        List.of(
            "{}",
            "[]",
            "{\"searches\": [1]}",
            "{\"searches\": {}}",
            "{\"missing\": [\"a\"]}",
            "{\"searches\": [" + many + "]}",
            "{\"ranking\": {\"results\": [{\"id\": \"unknown\", \"score\": 1}]}}",
            "{\"ranking\": {}}")) {
      expectThrows(InvalidAnswer.class, () -> parsed(body));
    }
  }

  public void testACallBringsWhatWasFound() {
    SearchCall call =
        new SearchCall(
            "copy a file", "tools-apis-1", Map.of("x", 1), 10, "", List.of(), null, "hybrid", true);
    FoundDocuments found = new FoundDocuments();
    found.add(List.of(answer("{\"id\": \"a\", \"text\": \"t\"}")));
    found.add(List.of(answer("{\"id\": \"b\"}"), answer("{\"id\": \"a\"}")));
    Map<String, Object> read = sent(call, found, 1, Set.of());
    assertEquals(
        List.of(
            List.of(List.of(Map.of("id", "a", "text", "t"))),
            List.of(List.of(Map.of("id", "b")), List.of(Map.of("id", "a")))),
        sources(read));
    assertEquals(Set.of("a", "b"), found.ids());
    assertEquals(250, read.get("deadline_ms"));
    assertEquals("hybrid", read.get("profile"));
    assertFalse(read.containsKey("filter"));
  }

  public void testADocumentIsWrittenOnce() {
    FoundDocuments found = new FoundDocuments();
    String vector = "\"vector_f32\": \"AACAPw==\", \"needs\": [\"x\"], \"deprecated\": false";
    found.add(
        List.of(
            answer("{\"id\": \"a\", \"text\": \"t\", " + vector + "}"),
            answer("{\"counts\": {\"w\": 1}, \"text\": \"t\", \"id\": \"a\", " + vector + "}"),
            answer("{\"id\": \"a\", \"counts\": {\"v\": 2}, \"lengths\": {\"api\": 3}}")));
    SearchCall call = new SearchCall("q", "i", Map.of(), 1, "", List.of(), null, null, false);
    Map<String, Object> read = sent(call, found, 1, Set.of());
    Map<String, Object> first =
        Map.of(
            "id",
            "a",
            "text",
            "t",
            "vector_f32",
            "AACAPw==",
            "needs",
            List.of("x"),
            "deprecated",
            false);
    assertEquals(
        List.of(
            List.of(
                List.of(first),
                List.of(Map.of("id", "a", "counts", Map.of("w", 1))),
                List.of(Map.of("id", "a", "counts", Map.of("v", 2), "lengths", Map.of("api", 3))))),
        sources(read));
  }

  public void testSeveralSearchesNameWhatIsReadOnce() {
    Map<String, Object> dense = Map.of("size", 2, "_source", List.of("id", "text"));
    Map<String, Object> words = Map.of("size", 3, "_source", List.of("id", "text", "counts.w"));
    Map<String, Object> counting = Map.of("size", 0);
    SharedFields shared = new SharedFields(List.of(dense, counting, words));
    assertEquals(
        List.of(Map.of("size", 2, "_source", false), counting, Map.of("size", 3, "_source", false)),
        shared.searches());
    assertEquals(Set.of("id", "text", "counts.w"), shared.fields());
    Map<?, ?> reading = shared.reading(List.of("1", "2")).get(0);
    assertEquals(Map.of("ids", Map.of("values", List.of("1", "2"))), reading.get("query"));
    assertEquals(2, reading.get("size"));
    assertEquals(2, shared.reading(Collections.nCopies(5_001, "1")).size());
  }

  public void testAServiceThatSaysNothingOfItSpeaksTheFirstProtocol() {
    assertEquals(1, parsed("{\"searches\": [{\"size\": 3}]}").protocol());
    assertEquals(2, parsed("{\"protocol\": 9, \"missing\": [1, 4]}").protocol());
    assertEquals(Set.of(1, 4), parsed("{\"missing\": [1, 4]}").missing());
  }

  public void testDocumentsAreSentApartByTheirHash() {
    FoundDocuments found = new FoundDocuments();
    found.add(
        List.of(
            answer("{\"text\": \"t\", \"id\": \"a\", \"counts\": {\"w\": 1}}", "{\"id\": \"b\"}"),
            answer("{\"id\": \"a\", \"text\": \"t\"}")));
    found.add(List.of(answer("{\"id\": \"a\", \"text\": \"changed\"}")));
    SearchCall call = new SearchCall("q", "i", Map.of(), 1, "", List.of(), null, null, false);
    Map<String, Object> sent = sent(call, found, 2, Set.of(1));
    List<?> documents = (List<?>) sent.get("documents");
    // Of {"id":"a","text":"t"}, as the service computes it.
    assertEquals("fIfb1cYiYhE2VNO_OyJm", documents.get(0));
    assertEquals(Map.of("id", "b"), documents.get(1));
    assertEquals(3, documents.size());
    Map<String, Object> first = Map.of("document", 0, "_source", Map.of("counts", Map.of("w", 1)));
    assertEquals(
        List.of(
            List.of(List.of(first, Map.of("document", 1)), List.of(Map.of("document", 0))),
            List.of(List.of(Map.of("document", 2)))),
        ofHits(sent, hit -> hit));
    assertEquals(2, sent.get("protocol"));
  }

  public void testADocumentThatWasReadOnceIsWrittenOnce() {
    FoundDocuments found = new FoundDocuments();
    Set<String> fields = Set.of("id", "counts.w");
    List<SearchResponse> answers = List.of(named("1", "2"), answer(), named("2", "3", "gone"));
    assertEquals(Set.of("1", "2", "3", "gone"), found.unread(answers, fields));
    String second = "{\"id\": \"b\", \"counts\": {\"w\": 1}}";
    found.read(
        documents(Map.of("1", "{\"id\": \"a\"}", "2", second, "3", "{\"id\": \"c\"}")), fields);
    found.add(answers);
    assertTrue(found.lost());
    assertEquals(List.of("b", "a", "c"), found.fused());
    assertEquals(Set.of("a", "b", "c"), found.ids());
    assertEquals(Set.of(), found.unread(List.of(named("1", "3")), fields));
    assertEquals(Set.of("1"), found.unread(List.of(named("1")), Set.of("other")));
    SearchCall call = new SearchCall("q", "i", Map.of(), 1, "", List.of(), null, null, false);
    Map<String, Object> sent = sent(call, found, 1, Set.of());
    assertEquals(
        List.of(
            List.of(
                List.of(Map.of("id", "a"), Map.of("id", "b", "counts", Map.of("w", 1))),
                List.of(),
                List.of(Map.of("id", "b"), Map.of("id", "c")))),
        sources(sent));
  }

  public void testOneSearchReadsForItself() {
    Map<String, Object> dense = Map.of("size", 2, "_source", List.of("id", "text"));
    Map<String, Object> counting = Map.of("size", 0, "_source", false);
    SharedFields shared = new SharedFields(List.of(dense, counting));
    assertEquals(List.of(dense, counting), shared.searches());
    assertEquals(Set.of(), shared.fields());
  }

  public void testTheFirstRoundIsFusedByItsRanks() {
    FoundDocuments found = new FoundDocuments();
    assertEquals(List.of(), found.fused());
    found.add(
        List.of(
            answer("{\"id\": \"c\"}", "{\"id\": \"a\"}", "{\"id\": \"b\"}"),
            answer("{\"id\": \"b\"}", "{\"id\": \"d\"}")));
    found.add(List.of(answer("{\"id\": \"e\"}")));
    assertEquals(List.of("b", "c", "a", "d"), found.fused());
  }

  /** An answer with hits of these names, without sources. */
  private static SearchResponse named(String... names) {
    SearchHit[] found = new SearchHit[names.length];
    for (int i = 0; i < found.length; i++) {
      found[i] = new SearchHit(i, names[i], Map.of(), Map.of());
    }
    return answer(found);
  }

  /** An answer with hits of these names and sources. */
  private static SearchResponse documents(Map<String, String> sources) {
    List<SearchHit> found = new ArrayList<>();
    sources.forEach(
        (name, source) -> {
          SearchHit hit = new SearchHit(found.size(), name, Map.of(), Map.of());
          hit.sourceRef(new BytesArray(source));
          found.add(hit);
        });
    return answer(found.toArray(new SearchHit[0]));
  }

  /** An answer of the search engine with hits of these sources. */
  private static SearchResponse answer(String... sources) {
    SearchHit[] found = new SearchHit[sources.length];
    for (int i = 0; i < found.length; i++) {
      found[i] = new SearchHit(i, i + ".1", Map.of(), Map.of());
      found[i].sourceRef(new BytesArray(sources[i]));
    }
    return answer(found);
  }

  private static SearchResponse answer(SearchHit[] found) {
    TotalHits total = new TotalHits(found.length, TotalHits.Relation.EQUAL_TO);
    SearchHits hits = new SearchHits(found, total, 1f);
    return new SearchResponse(
        new InternalSearchResponse(hits, null, null, null, false, null, 1),
        null,
        1,
        1,
        0,
        1,
        ShardSearchFailure.EMPTY_ARRAY,
        SearchResponse.Clusters.EMPTY);
  }

  private static Map<String, Object> sent(
      SearchCall call, FoundDocuments found, int protocol, Set<Integer> whole) {
    byte[] body = call.toJson(found, protocol, whole::contains, 250);
    try (InputStream json = new GZIPInputStream(new ByteArrayInputStream(body))) {
      return XContentHelper.convertToMap(JsonXContent.jsonXContent, json, false);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Object sources(Map<String, Object> body) {
    return ofHits(body, hit -> ((Map<?, ?>) hit).get("_source"));
  }

  private static Object ofHits(Map<String, Object> body, Function<Object, Object> part) {
    return ((List<?>) body.get("found"))
        .stream()
            .map(
                round ->
                    ((List<?>) round)
                        .stream()
                            .map(
                                answer ->
                                    ((List<?>)
                                            ((Map<?, ?>) ((Map<?, ?>) answer).get("hits"))
                                                .get("hits"))
                                        .stream().map(part).toList())
                            .toList())
            .toList();
  }
}
