package org.kitpick.opensearch.rescore;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.lucene.search.Explanation;
import org.apache.lucene.search.TotalHits;
import org.kitpick.opensearch.guard.FailureReason;
import org.kitpick.opensearch.guard.RescoreFailure;
import org.kitpick.opensearch.wire.Need;
import org.kitpick.opensearch.wire.RescoreAnswer;
import org.kitpick.opensearch.wire.RescoreAnswer.Hit;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.action.search.SearchResponse.Clusters;
import org.opensearch.action.search.ShardSearchFailure;
import org.opensearch.common.io.stream.BytesStreamOutput;
import org.opensearch.core.common.bytes.BytesArray;
import org.opensearch.core.common.io.stream.NamedWriteableAwareStreamInput;
import org.opensearch.core.common.io.stream.NamedWriteableRegistry;
import org.opensearch.core.common.io.stream.StreamInput;
import org.opensearch.search.SearchExtBuilder;
import org.opensearch.search.SearchHit;
import org.opensearch.search.SearchHits;
import org.opensearch.search.internal.InternalSearchResponse;
import org.opensearch.test.OpenSearchTestCase;

/** The response that the user gets, for any order and any page. */
public class ResponseBuilderTests extends OpenSearchTestCase {

  public void testAnyOrderAndAnyPageLosesAndDoublesNothing() {
    int hits = randomIntBetween(1, 40);
    int window = randomIntBetween(1, hits);
    List<String> ranked = new ArrayList<>(names(window));
    Collections.shuffle(ranked, random());
    ranked = ranked.subList(0, randomIntBetween(0, window));
    int size = randomIntBetween(1, hits);
    List<String> seen = new ArrayList<>();
    for (int from = 0; from < hits; from += size) {
      SearchResponse page =
          rescored(
              hits,
              window,
              ranked,
              new Page(from, size, null, true, null, SourceView.WHOLE, null, null));
      seen.addAll(ids(page));
    }
    List<String> expected = new ArrayList<>(ranked);
    names(hits).stream().filter(id -> !expected.contains(id)).forEach(expected::add);
    assertEquals(expected, seen);
  }

  public void testScoresNeverRise() {
    int hits = randomIntBetween(1, 20);
    List<String> ranked = new ArrayList<>(names(hits));
    Collections.shuffle(ranked, random());
    SearchResponse response =
        rescored(
            hits, hits, ranked, new Page(0, hits, null, true, null, SourceView.WHOLE, null, null));
    float before = Float.POSITIVE_INFINITY;
    for (SearchHit hit : response.getHits().getHits()) {
      assertTrue(hit.getScore() <= before);
      before = hit.getScore();
    }
    assertEquals(response.getHits().getAt(0).getScore(), response.getHits().getMaxScore(), 0f);
  }

  public void testWhatIsNoHitStays() throws IOException {
    SearchResponse before = response(5);
    SearchResponse after =
        rescored(5, 5, names(5), new Page(0, 2, null, true, null, SourceView.WHOLE, null, null));
    assertEquals(before.getHits().getTotalHits(), after.getHits().getTotalHits());
    assertEquals(before.getTook().millis() + 1, after.getTook().millis()); // took_ms is 1.2345
    assertEquals(before.getTotalShards(), after.getTotalShards());
    assertEquals(before.isTimedOut(), after.isTimedOut());
    assertEquals(before.isTerminatedEarly(), after.isTerminatedEarly());
    assertEquals(before.getNumReducePhases(), after.getNumReducePhases());
    assertEquals("rescored", report(after).get("status"));
  }

  public void testItTravelsToAnotherNode() throws IOException {
    SearchResponse response =
        rescored(5, 5, names(5), new Page(0, 3, null, true, null, SourceView.WHOLE, null, null));
    NamedWriteableRegistry known =
        new NamedWriteableRegistry(
            List.of(
                new NamedWriteableRegistry.Entry(
                    SearchExtBuilder.class, ReportExt.NAME, ReportExt::new)));
    try (BytesStreamOutput out = new BytesStreamOutput()) {
      response.writeTo(out);
      try (StreamInput in = new NamedWriteableAwareStreamInput(out.bytes().streamInput(), known)) {
        SearchResponse back = new SearchResponse(in);
        assertEquals(ids(response), ids(back));
        assertEquals(report(response), report(back));
      }
    }
  }

  public void testAWindowThatTheOperatorMadeSmallerIsToldOf() {
    Page guessed = new Page(0, 2, null, true, null, SourceView.WHOLE, null, null);
    Page said = new Page(0, 2, 70, true, null, SourceView.WHOLE, null, null);
    for (Page page : List.of(guessed, said)) {
      SearchResponse small = rescored(response(5), 5, names(5), page, 30);
      assertEquals(
          List.of(Map.of("stage", "window", "reason", "kitpick.max_window is 30")),
          report(small).get("degraded"));
    }
    assertNull(report(rescored(response(5), 5, names(5), guessed, 50)).get("degraded"));
    Page less = new Page(0, 2, 20, true, null, SourceView.WHOLE, null, null);
    assertNull("said", report(rescored(response(5), 5, names(5), less, 30)).get("degraded"));
  }

  public void testTheScoreIsExplainedAsItIsShown() {
    SearchResponse explained = response(3);
    Explanation before = Explanation.match(7, "first");
    explained.getHits().forEach(hit -> hit.explanation(before));
    Page page = new Page(0, 3, null, true, null, SourceView.WHOLE, null, null);
    for (SearchHit hit : rescored(explained, 3, List.of("h2"), page, 50).getHits()) {
      assertEquals(hit.getScore(), hit.getExplanation().getValue().floatValue(), 0f);
      assertSame(before, hit.getExplanation().getDetails()[0]);
    }
  }

  /** The next page of a scroll begins behind all that was found. */
  public void testAScrollLosesNothingToK() {
    Options three = Options.read("t", "tag", new HashMap<>(Map.of("k", 3))).over(Options.DEFAULTS);
    Page page = new Page(0, 5, null, false, null, SourceView.WHOLE, null, null);
    for (String scroll : new String[] {null, "id"}) {
      SearchResponse shown =
          new ResponseBuilder(response(5, scroll), page, three, 50, null)
              .skipped(SkipReason.SCROLL);
      assertEquals(scroll == null ? 3 : 5, ids(shown).size());
    }
  }

  public void testAFailureIsToldAndLeavesTheOrder() {
    Page page = new Page(1, 2, null, true, null, SourceView.WHOLE, null, null);
    SearchResponse response =
        new ResponseBuilder(response(5), page, Options.DEFAULTS, 50, null)
            .original(new RescoreFailure(FailureReason.BUSY, "no time"), 1.23456);
    assertEquals(List.of("h1", "h2"), ids(response));
    assertEquals("original", report(response).get("status"));
    assertEquals("busy", report(response).get("reason"));
    assertEquals(1.235, report(response).get("took_ms"));
  }

  private static SearchResponse rescored(int hits, int window, List<String> ranked, Page page) {
    return rescored(response(hits), window, ranked, page, 50);
  }

  private static SearchResponse rescored(
      SearchResponse response, int window, List<String> ranked, Page page, int maxWindow) {
    FieldNames names = FieldNames.read("t", "tag", new HashMap<>());
    List<SearchHit> all = Arrays.asList(response.getHits().getHits());
    Documents documents =
        new Documents(new HitReader(names, 50, hit -> true), all.subList(0, window));
    List<Hit> results =
        ranked.stream().map(id -> new Hit(id, randomFloat(), null, List.of("why"))).toList();
    RescoreAnswer answer =
        new RescoreAnswer("p", results, new Need(List.of(), null, 0), 1, Map.of(), List.of());
    Ranking ranking = new Ranking(answer, documents, 0, answer.totalMillis(), null);
    return new ResponseBuilder(response, page, Options.DEFAULTS, maxWindow, null)
        .rescored(ranking, 1);
  }

  private static SearchResponse response(int count) {
    return response(count, null);
  }

  private static SearchResponse response(int count, String scroll) {
    SearchHit[] hits = new SearchHit[count];
    for (int i = 0; i < count; i++) {
      hits[i] = new SearchHit(i, "h" + i, new HashMap<>(), new HashMap<>());
      hits[i].sourceRef(new BytesArray("{\"text\": \"t\"}"));
      hits[i].score(count - i);
    }
    SearchHits all = new SearchHits(hits, new TotalHits(1234, TotalHits.Relation.EQUAL_TO), count);
    InternalSearchResponse inner =
        new InternalSearchResponse(all, null, null, null, true, true, 3, List.of(), List.of());
    return new SearchResponse(
        inner, scroll, 4, 3, 1, 56, ShardSearchFailure.EMPTY_ARRAY, Clusters.EMPTY, null);
  }

  private static List<String> names(int count) {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      names.add("h" + i);
    }
    return names;
  }

  private static List<String> ids(SearchResponse response) {
    return Arrays.stream(response.getHits().getHits()).map(SearchHit::getId).toList();
  }

  private static Map<String, Object> report(SearchResponse response) {
    List<SearchExtBuilder> exts = response.getInternalResponse().getSearchExtBuilders();
    return ((ReportExt) exts.get(0)).values();
  }
}
