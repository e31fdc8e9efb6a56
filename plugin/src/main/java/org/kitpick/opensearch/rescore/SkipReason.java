package org.kitpick.opensearch.rescore;

import java.util.List;
import java.util.Locale;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.search.builder.SearchSourceBuilder;
import org.opensearch.search.sort.ScoreSortBuilder;
import org.opensearch.search.sort.SortBuilder;
import org.opensearch.search.sort.SortOrder;

/** Why a search is none to rescore: its order is not the first stage's to improve. */
enum SkipReason {
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
  /**
   * The hits carry sort values, with which a client may go on from any of them: in another order it
   * would miss hits and see others twice.
   */
  SORT_VALUES,
  /** The page lies behind the window. */
  BEYOND_WINDOW,
  /** A later page, and no window processor that brings the pages before it. */
  NO_WINDOW,
  /** Nothing was found. */
  NO_HITS,
  /** Neither ext, nor path, nor query say in words what was asked. */
  NO_QUERY_TEXT,
  /** No hit has a text to judge. */
  NO_TEXT;

  String code() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** How whoever wrote the pipeline or the request can mend it; null where nothing is wrong. */
  String message() {
    return switch (this) {
      case NO_TEXT ->
          "no hit holds any of the pipeline's text_fields, or the search wants no stored_fields";
      case NO_QUERY_TEXT -> "the query has no text: say in ext.kitpick.query what is wanted";
      case NO_WINDOW -> "later pages need kitpick_window among the pipeline's request processors";
      default -> null;
    };
  }

  /** The reason that the request alone gives, or null. */
  static SkipReason of(SearchRequest request, Page page) {
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
    return source == null || source.sorts() == null ? null : ofSorts(source.sorts());
  }

  private static SkipReason ofSorts(List<SortBuilder<?>> sorts) {
    boolean byScore =
        sorts.isEmpty()
            || (sorts.get(0) instanceof ScoreSortBuilder first && first.order() == SortOrder.DESC);
    if (!byScore) {
      return SORTED;
    }
    return sorts.size() <= 1 ? null : SORT_VALUES; // the score alone brings no sort values
  }
}
