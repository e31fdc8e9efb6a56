package org.kitpick.opensearch.rescore;

import java.util.ArrayList;
import java.util.List;
import org.apache.lucene.search.TotalHits;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.action.search.SearchResponseSections;
import org.opensearch.search.SearchExtBuilder;
import org.opensearch.search.SearchHit;
import org.opensearch.search.SearchHits;
import org.opensearch.search.aggregations.InternalAggregations;
import org.opensearch.search.internal.InternalSearchResponse;
import org.opensearch.search.profile.SearchProfileShardResults;

/** Copies of a response with other hits: everything else of it stays. */
public final class Responses {

  private Responses() {}

  /**
   * The same response with these hits, and this report instead of any other.
   *
   * @param tookMillis what the whole search took
   */
  public static SearchResponse with(
      SearchResponse response,
      List<SearchHit> hits,
      TotalHits total,
      float maxScore,
      long tookMillis,
      ReportExt report) {
    SearchHits old = response.getHits();
    SearchResponseSections sections = response.getInternalResponse();
    List<SearchExtBuilder> exts = new ArrayList<>(sections.getSearchExtBuilders());
    exts.removeIf(ReportExt.class::isInstance);
    exts.add(report);
    // Of this very class: a response that goes to another node can't be of its base class.
    InternalSearchResponse inner =
        new InternalSearchResponse(
            new SearchHits(
                hits.toArray(SearchHit[]::new),
                total,
                maxScore,
                old.getSortFields(),
                old.getCollapseField(),
                old.getCollapseValues()),
            (InternalAggregations) response.getAggregations(),
            response.getSuggest(),
            response.getProfileResults().isEmpty()
                ? null
                : new SearchProfileShardResults(response.getProfileResults()),
            response.isTimedOut(),
            response.isTerminatedEarly(),
            response.getNumReducePhases(),
            exts,
            sections.getProcessorResult());
    return new SearchResponse(
        inner,
        response.getScrollId(),
        response.getTotalShards(),
        response.getSuccessfulShards(),
        response.getSkippedShards(),
        tookMillis,
        response.getPhaseTook(),
        response.getShardFailures(),
        response.getClusters(),
        response.pointInTimeId());
  }
}
