package org.kitpick.opensearch.catalog;

import java.io.IOException;
import java.util.List;
import org.kitpick.opensearch.rescore.RequestExt;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.index.query.QueryBuilder;
import org.opensearch.index.query.QueryBuilders;
import org.opensearch.index.reindex.DeleteByQueryRequest;
import org.opensearch.index.reindex.ReindexRequest;
import org.opensearch.index.reindex.UpdateByQueryRequest;
import org.opensearch.search.aggregations.AggregationBuilders;
import org.opensearch.search.builder.SearchSourceBuilder;
import org.opensearch.test.OpenSearchTestCase;

public class RefusalsTests extends OpenSearchTestCase {

  private static final QueryBuilder ASKED =
      new KitpickQueryBuilder("copy a file", null, "", List.of());

  public void testWhatChangesWhatItFindsIsRefused() {
    assertRefused(
        "delete", () -> Refusals.check(new DeleteByQueryRequest("tools").setQuery(ASKED)));
    assertRefused(
        "change", () -> Refusals.check(new UpdateByQueryRequest("tools").setQuery(ASKED)));
    assertRefused("copy", () -> Refusals.check(new ReindexRequest().setSourceQuery(ASKED)));
    Refusals.check(new DeleteByQueryRequest("tools").setQuery(QueryBuilders.matchAllQuery()));
    Refusals.check(new ReindexRequest());
  }

  public void testACountIsRefused() throws IOException {
    SearchSourceBuilder count = new SearchSourceBuilder().size(0).trackTotalHits(true);
    assertRefused("counts nothing", () -> check(count, "{}"));
    check(new SearchSourceBuilder().size(0), "{}");
    check(new SearchSourceBuilder().size(3).trackTotalHits(true), "{}");
    check(
        new SearchSourceBuilder()
            .size(0)
            .trackTotalHits(true)
            .aggregation(AggregationBuilders.terms("tools").field("tool")),
        "{}");
  }

  public void testWhatWouldBeIgnoredIsRefusedByName() throws IOException {
    SearchSourceBuilder source = new SearchSourceBuilder();
    assertRefused("[k, window]", () -> check(source, "{\"window\": 20, \"k\": 3}"));
    assertRefused("[query]", () -> check(source, "{\"query\": \"another\"}"));
    assertRefused(
        "terminate_after", () -> check(new SearchSourceBuilder().terminateAfter(5), "{}"));
    assertRefused(
        "indices_boost", () -> check(new SearchSourceBuilder().indexBoost("tools", 2f), "{}"));
    check(source, "{\"profile\": \"hybrid\", \"deadline_ms\": 50, \"explain\": false}");
  }

  private void check(SearchSourceBuilder source, String ext) throws IOException {
    source.query(ASKED);
    source.ext(List.of(RequestExt.fromXContent(parsed(ext))));
    SearchRequest request = new SearchRequest("tools").source(source);
    Refusals.check(request, RequestExt.optionsOf(request));
  }

  private org.opensearch.core.xcontent.XContentParser parsed(String ext) throws IOException {
    return createParser(JsonXContent.jsonXContent, ext);
  }

  private static void assertRefused(String word, ThrowingRunnable run) {
    IllegalArgumentException refused = expectThrows(IllegalArgumentException.class, run);
    assertTrue(refused.getMessage(), refused.getMessage().contains(word));
  }
}
