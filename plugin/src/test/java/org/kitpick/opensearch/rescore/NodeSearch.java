package org.kitpick.opensearch.rescore;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.lucene.search.TotalHits;
import org.kitpick.opensearch.rescore.Options.OnFailure;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.action.search.SearchResponse.Clusters;
import org.opensearch.action.search.ShardSearchFailure;
import org.opensearch.common.xcontent.LoggingDeprecationHandler;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.core.action.ActionListener;
import org.opensearch.core.common.bytes.BytesReference;
import org.opensearch.core.xcontent.NamedXContentRegistry;
import org.opensearch.core.xcontent.XContentParser;
import org.opensearch.index.query.QueryBuilders;
import org.opensearch.search.SearchExtBuilder;
import org.opensearch.search.SearchHit;
import org.opensearch.search.SearchHits;
import org.opensearch.search.builder.SearchSourceBuilder;
import org.opensearch.search.fetch.subphase.FetchSourceContext;
import org.opensearch.search.internal.InternalSearchResponse;
import org.opensearch.search.pipeline.PipelineProcessingContext;

/** One search through a pipeline, as a node runs it, over two documents that are always found. */
final class NodeSearch {

  private NodeSearch() {}

  static SearchResponse search(
      NodeRuntime node, FetchSourceContext view, OnFailure onFailure, boolean window, int from)
      throws Exception {
    return search(node, source(view, onFailure, from), window);
  }

  /** As the node does it: the window, the search itself, then what ranks its hits. */
  static SearchResponse search(NodeRuntime node, SearchSourceBuilder source, boolean window)
      throws Exception {
    SearchRequest request = new SearchRequest("apis").source(source);
    PipelineProcessingContext context = new PipelineProcessingContext();
    if (window) {
      Map<String, Object> config =
          new HashMap<>(Map.of("fields", new ArrayList<>(List.of("text"))));
      WindowProcessor processor =
          (WindowProcessor)
              WindowProcessor.factory(node::away, node.maxWindow())
                  .create(Map.of(), "t", null, false, config, null);
      processor.processRequest(request, context);
    }
    CompletableFuture<SearchResponse> answer = new CompletableFuture<>();
    Config config = Config.read(RescoreProcessor.TYPE, "t", new HashMap<>());
    new SearchRescore(node, config, request, found(request.source()), Page.in(context, request))
        .start(ActionListener.wrap(answer::complete, answer::completeExceptionally));
    try {
      return answer.get(300, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw (Exception) e.getCause();
    }
  }

  static SearchSourceBuilder source(FetchSourceContext view, OnFailure onFailure, int from)
      throws IOException {
    String said = "{\"on_failure\": \"" + onFailure.name().toLowerCase(Locale.ROOT) + "\"}";
    XContentParser parser =
        JsonXContent.jsonXContent.createParser(
            NamedXContentRegistry.EMPTY, LoggingDeprecationHandler.INSTANCE, said);
    return new SearchSourceBuilder()
        .query(QueryBuilders.matchQuery("text", "copy a file"))
        .from(from)
        .size(1)
        .fetchSource(view)
        .ext(List.of(RequestExt.fromXContent(parser)));
  }

  /** What a node finds for a search: two documents, of which it brings what is asked for. */
  private static SearchResponse found(SearchSourceBuilder source) throws IOException {
    List<SearchHit> hits = new ArrayList<>();
    for (String id : List.of("a", "b")) {
      SearchHit hit = new SearchHit(hits.size(), id, Map.of(), Map.of());
      hit.score(1);
      Map<String, Object> document = Map.of("id", id, "text", "copies " + id);
      if (source.fetchSource().fetchSource()) {
        Map<String, Object> shown = source.fetchSource().getFilter().apply(document);
        hit.sourceRef(BytesReference.bytes(JsonXContent.contentBuilder().map(shown)));
      }
      hits.add(hit);
    }
    TotalHits total = new TotalHits(2, TotalHits.Relation.EQUAL_TO);
    InternalSearchResponse inner =
        new InternalSearchResponse(
            new SearchHits(hits.toArray(SearchHit[]::new), total, 1),
            null,
            null,
            null,
            false,
            false,
            1);
    return new SearchResponse(
        inner, null, 1, 1, 0, 1, ShardSearchFailure.EMPTY_ARRAY, Clusters.EMPTY);
  }

  static Map<String, Object> report(SearchResponse response) {
    for (SearchExtBuilder ext : response.getInternalResponse().getSearchExtBuilders()) {
      if (ext instanceof ReportExt report) {
        return report.values();
      }
    }
    throw new AssertionError("no report");
  }
}
