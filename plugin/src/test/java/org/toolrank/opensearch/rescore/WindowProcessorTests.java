package org.toolrank.opensearch.rescore;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.opensearch.OpenSearchParseException;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.common.unit.TimeValue;
import org.opensearch.index.query.QueryBuilders;
import org.opensearch.script.Script;
import org.opensearch.search.builder.SearchSourceBuilder;
import org.opensearch.search.fetch.subphase.FieldAndFormat;
import org.opensearch.search.pipeline.PipelineProcessingContext;
import org.opensearch.search.pipeline.SearchRequestProcessor;
import org.opensearch.test.OpenSearchTestCase;

public class WindowProcessorTests extends OpenSearchTestCase {

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

  public void testWithoutABodyTenAreWanted() throws Exception {
    SearchRequest request = new SearchRequest("apis");
    processor().processRequest(request, context);
    assertEquals(50, request.source().size());
    assertEquals(10, Page.in(context, request).size());
  }

  public void testAnotherOrderIsLeftAlone() throws Exception {
    for (SearchSourceBuilder source :
        List.of(
            new SearchSourceBuilder().size(0),
            new SearchSourceBuilder().size(5).sort("price"),
            new SearchSourceBuilder().size(5).sort("_score").searchAfter(new Object[] {1f}),
            new SearchSourceBuilder().size(5).from(50))) {
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

  public void testFieldsAreAddedWhereTheSourceIsRestricted() throws Exception {
    SearchSourceBuilder source =
        new SearchSourceBuilder().fetchSource(new String[] {"id"}, null).fetchField("tool");
    SearchRequest request = processed(source);
    assertEquals(List.of("text"), Page.in(context, request).addedFields());
    List<String> fetched =
        request.source().fetchFields().stream().map((FieldAndFormat each) -> each.field).toList();
    assertEquals(List.of("tool", "text"), fetched);
  }

  public void testFieldsAreAddedWhereScriptsSwitchTheSourceOff() throws Exception {
    SearchRequest request =
        processed(new SearchSourceBuilder().scriptField("more", new Script("1 + 1")));
    assertEquals(List.of("text", "tool"), Page.in(context, request).addedFields());
  }

  public void testWithoutStoredFieldsNoFieldCanBeAdded() throws Exception {
    SearchRequest request = processed(new SearchSourceBuilder().storedField("_none_"));
    assertTrue(Page.in(context, request).addedFields().isEmpty());
    assertNull(request.source().fetchFields());
  }

  public void testAWholeSourceNeedsNoFields() throws Exception {
    SearchRequest request = processed(new SearchSourceBuilder());
    assertNull(request.source().fetchFields());
    assertTrue(Page.in(context, request).addedFields().isEmpty());
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

  private SearchRequest processed(SearchSourceBuilder source) throws Exception {
    return processor().processRequest(new SearchRequest("apis").source(source), context);
  }

  private static SearchRequestProcessor processor() throws Exception {
    return made(new HashMap<>(Map.of("fields", List.of("text", "tool"))));
  }

  private static SearchRequestProcessor made(Map<String, Object> config) throws Exception {
    SearchRequestProcessor processor =
        WindowProcessor.factory().create(Map.of(), "tag", "", false, config, null);
    assertTrue("every key is taken out", config.isEmpty());
    return processor;
  }
}
