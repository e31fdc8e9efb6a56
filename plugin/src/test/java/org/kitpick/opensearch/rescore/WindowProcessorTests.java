package org.kitpick.opensearch.rescore;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.kitpick.opensearch.guard.FailureReason;
import org.kitpick.opensearch.guard.RescoreFailure;
import org.kitpick.opensearch.guard.Rescorer;
import org.opensearch.OpenSearchParseException;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.common.unit.TimeValue;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.core.common.bytes.BytesArray;
import org.opensearch.core.xcontent.XContentParser;
import org.opensearch.index.query.QueryBuilders;
import org.opensearch.script.Script;
import org.opensearch.search.SearchHit;
import org.opensearch.search.builder.SearchSourceBuilder;
import org.opensearch.search.fetch.subphase.FetchSourceContext;
import org.opensearch.search.pipeline.PipelineProcessingContext;
import org.opensearch.search.pipeline.SearchRequestProcessor;
import org.opensearch.test.OpenSearchTestCase;

public class WindowProcessorTests extends OpenSearchTestCase {

  private final AtomicReference<RescoreFailure> away = new AtomicReference<>();
  private final AtomicInteger maxWindow = new AtomicInteger(1_000);
  private final PipelineProcessingContext context = new PipelineProcessingContext();

  public void testTheSearchBringsTheWholeWindow() throws Exception {
    int size = randomIntBetween(1, 49);
    int from = randomIntBetween(0, 49);
    SearchRequest request = processed(new SearchSourceBuilder().from(from).size(size));
    assertEquals(0, request.source().from());
    assertEquals(Math.max(50, from + size), request.source().size());
    Page page = Page.in(context, request);
    assertEquals(from, page.from());
    assertEquals(size, page.size());
    assertTrue(page.widened());
  }

  public void testAnOperatorLimitsWhatRequestsAskFor() throws Exception {
    maxWindow.set(30);
    assertEquals(30, processed(new SearchSourceBuilder().size(5)).source().size());
    SearchSourceBuilder large =
        new SearchSourceBuilder().size(5).ext(List.of(ext("{\"window\": 70}")));
    assertEquals(30, processed(large).source().size());
  }

  public void testWithoutABodyTenAreWanted() throws Exception {
    SearchRequest request = new SearchRequest("apis");
    processor().processRequest(request, context);
    assertEquals(50, request.source().size());
    assertEquals(10, Page.in(context, request).size());
  }

  public void testNoWindowIsBroughtThatNobodyWouldRead() throws Exception {
    RescoreFailure open = new RescoreFailure(FailureReason.CIRCUIT_OPEN, "left alone");
    away.set(open);
    SearchRequest request = processed(new SearchSourceBuilder().from(3).size(5));
    assertEquals(3, request.source().from());
    assertEquals(5, request.source().size());
    assertFalse(Page.in(context, request).widened());
    assertSame("and it is told why", open, Page.in(context, request).away());
    away.set(null);
    assertEquals(50, processed(new SearchSourceBuilder().size(5)).source().size());
  }

  public void testASearchThatNobodyWouldRescoreIsNoneThatWasSpared() throws Exception {
    away.set(Rescorer.shed());
    assertNull(Page.in(context, processed(new SearchSourceBuilder().size(0))).away());
    assertNotNull(Page.in(context, processed(new SearchSourceBuilder().size(5))).away());
  }

  public void testAnotherOrderIsLeftAlone() throws Exception {
    for (SearchSourceBuilder source :
        List.of(
            new SearchSourceBuilder().size(0),
            new SearchSourceBuilder().size(5).sort("price"),
            new SearchSourceBuilder().size(5).sort("_score").searchAfter(new Object[] {1f}),
            new SearchSourceBuilder().size(5).sort("_score").sort("price"))) {
      int size = source.size();
      SearchRequest request = processed(source);
      assertEquals(size, request.source().size());
      assertFalse(Page.in(context, request).widened());
    }
    SearchRequest scroll = new SearchRequest("apis").scroll(TimeValue.timeValueMinutes(1));
    scroll.source(new SearchSourceBuilder().size(7));
    processor().processRequest(scroll, context);
    assertEquals(7, scroll.source().size());
  }

  public void testARestrictedSourceBringsWhatTheRescorerReads() throws Exception {
    SearchSourceBuilder source =
        new SearchSourceBuilder().fetchSource(new String[] {"id"}, new String[] {"tool"});
    SearchRequest request = processed(source.fetchField("t*"));
    assertEquals(Set.of("id", "text", "tool"), Set.of(request.source().fetchSource().includes()));
    assertEquals(0, request.source().fetchSource().excludes().length);
    assertEquals("no field more", 1, request.source().fetchFields().size());
    SearchHit hit = hit();
    Page.in(context, request).shown().restore(hit);
    assertEquals(Map.of("id", 1), hit.getSourceAsMap());
  }

  public void testASourceWithoutSomeIsBroughtWhole() throws Exception {
    SearchRequest request =
        processed(new SearchSourceBuilder().fetchSource(null, new String[] {"t*"}));
    assertEquals(FetchSourceContext.FETCH_SOURCE, request.source().fetchSource());
    SearchHit hit = hit();
    Page.in(context, request).shown().restore(hit);
    assertEquals(Map.of("id", 1), hit.getSourceAsMap());
  }

  public void testASourceThatTheUserDoesNotWantIsTakenAway() throws Exception {
    for (SearchSourceBuilder source :
        List.of(
            new SearchSourceBuilder().fetchSource(false),
            new SearchSourceBuilder().storedField("x"),
            new SearchSourceBuilder().scriptField("more", new Script("1 + 1")))) {
      SearchRequest request = processed(source);
      assertTrue(request.source().fetchSource().fetchSource());
      SearchHit hit = hit();
      Page.in(context, request).shown().restore(hit);
      assertFalse(hit.hasSource());
    }
  }

  public void testASourceThatWasNotSpokenOfIsNotFiltered() throws Exception {
    SearchRequest request =
        processed(new SearchSourceBuilder().scriptField("more", new Script("1 + 1")));
    assertEquals(FetchSourceContext.FETCH_SOURCE, request.source().fetchSource());
  }

  public void testWithoutStoredFieldsNoSourceCanBeBrought() throws Exception {
    SearchRequest request = processed(new SearchSourceBuilder().storedField("_none_"));
    assertEquals(SourceView.WHOLE, Page.in(context, request).shown());
    assertNull(request.source().fetchSource());
  }

  public void testAWholeSourceIsLeftAsItIs() throws Exception {
    for (SearchSourceBuilder source :
        List.of(
            new SearchSourceBuilder(),
            new SearchSourceBuilder().fetchSource(true),
            new SearchSourceBuilder().storedField("_source"))) {
      assertEquals(SourceView.WHOLE, Page.in(context, processed(source)).shown());
    }
  }

  public void testBehindTheWindowItIsBroughtWhereSomethingMayHaveBeenFetched() throws Exception {
    assertEquals(55, processed(new SearchSourceBuilder().from(50).size(5)).source().size());
    for (SearchSourceBuilder source :
        List.of(
            new SearchSourceBuilder().from(996).size(5),
            new SearchSourceBuilder().from(50).size(5).ext(List.of(ext("{\"rounds\": 0}"))))) {
      assertEquals(5, processed(source).source().size());
    }
  }

  public void testAPageBeyondAllNumbersIsLeftForTheEngineToRefuse() throws Exception {
    int large = Integer.MAX_VALUE - 5;
    SearchRequest request = processed(new SearchSourceBuilder().from(large).size(large));
    assertEquals(large, request.source().from());
    assertEquals(large, request.source().size());
  }

  public void testTheQueryIsKeptAsItWasWritten() throws Exception {
    SearchRequest request =
        processed(new SearchSourceBuilder().query(QueryBuilders.matchQuery("text", "rain")));
    request.source().query(QueryBuilders.matchAllQuery());
    assertEquals(Set.of("match"), Page.in(context, request).query().keySet());
  }

  public void testAWindowOutOfBoundsIsRefused() {
    for (int window : new int[] {-1, 0, Options.MAX_WINDOW + 1}) {
      expectThrows(
          OpenSearchParseException.class, () -> made(new HashMap<>(Map.of("window", window))));
    }
  }

  private static SearchHit hit() {
    SearchHit hit = new SearchHit(1, "a", new HashMap<>(), new HashMap<>());
    return hit.sourceRef(new BytesArray("{\"id\": 1, \"text\": \"t\", \"tool\": \"u\"}"));
  }

  private static RequestExt ext(String json) throws IOException {
    try (XContentParser parser = JsonXContent.jsonXContent.createParser(null, null, json)) {
      return RequestExt.fromXContent(parser);
    }
  }

  public void testASecondOneInAPipelineChangesNothing() throws Exception {
    SearchRequest request = processed(new SearchSourceBuilder().size(3).fetchSource("api", null));
    Page first = Page.in(context, request);
    processor().processRequest(request, context);
    assertSame(first, Page.in(context, request));
    assertEquals(3, first.size());
    assertEquals(50, request.source().size());
  }

  private SearchRequest processed(SearchSourceBuilder source) throws Exception {
    context.setAttribute("kitpick.page", null); // another search
    return processor().processRequest(new SearchRequest("apis").source(source), context);
  }

  private SearchRequestProcessor processor() throws Exception {
    return made(new HashMap<>(Map.of("fields", List.of("text", "tool"))));
  }

  private SearchRequestProcessor made(Map<String, Object> config) throws Exception {
    SearchRequestProcessor processor =
        WindowProcessor.factory(away::get, maxWindow::get)
            .create(Map.of(), "tag", "", false, config, null);
    assertTrue("every key is taken out", config.isEmpty());
    return processor;
  }
}
