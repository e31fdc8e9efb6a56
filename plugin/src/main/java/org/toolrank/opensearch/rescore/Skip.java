package org.toolrank.opensearch.rescore;

import java.util.List;
import java.util.Locale;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.search.builder.SearchSourceBuilder;
import org.opensearch.search.sort.ScoreSortBuilder;
import org.opensearch.search.sort.SortBuilder;
import org.opensearch.search.sort.SortOrder;

/** Why a search is none to rescore: its order is not the first stage's to improve. */
enum Skip {
  /** Only counts or aggregations were asked for. */
  SIZE_ZERO,
  /**
   * Later pages of a scroll don't pass through a pipeline: reordering the first would repeat hits.
   */
  SCROLL,
  /** The page continues a fixed order. */
  SEARCH_AFTER,
  /** The user asked for an order by something else than relevance. */
  SORTED,
  /** The page lies behind the window. */
  BEYOND_WINDOW,
  /** A later page, and no window processor that brings the pages before it. */
  NO_WINDOW,
  /** Nothing was found. */
  NO_HITS,
  /** Neither ext, nor path, nor query say in words what was asked. */
  NO_QUERY_TEXT,
  /** No hit has a text to judge. */
  NO_TEXT,
  /** Switched off by the cluster setting. */
  SWITCHED_OFF;

  String code() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** The reason that the request alone gives, or null. */
  static Skip of(SearchRequest request, Page page, int window) {
    SearchSourceBuilder source = request.source();
    if (page.size() == 0) {
      return SIZE_ZERO;
    }
    if (request.scroll() != null) {
      return SCROLL;
    }
    if (source != null && (source.searchAfter() != null || source.slice() != null)) {
      return SEARCH_AFTER;
    }
    if (source != null && !isByScore(source.sorts())) {
      return SORTED;
    }
    return page.from() >= window ? BEYOND_WINDOW : null;
  }

  private static boolean isByScore(List<SortBuilder<?>> sorts) {
    return sorts == null
        || sorts.isEmpty()
        || (sorts.get(0) instanceof ScoreSortBuilder first && first.order() == SortOrder.DESC);
  }
}
