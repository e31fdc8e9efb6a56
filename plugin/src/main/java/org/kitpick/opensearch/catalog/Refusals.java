package org.kitpick.opensearch.catalog;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.lucene.search.BooleanClause;
import org.kitpick.opensearch.rescore.Options;
import org.opensearch.action.fieldcaps.FieldCapabilitiesRequest;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.index.query.QueryBuilder;
import org.opensearch.index.query.QueryBuilderVisitor;
import org.opensearch.index.reindex.AbstractBulkByScrollRequest;
import org.opensearch.search.builder.SearchSourceBuilder;
import org.opensearch.search.internal.SearchContext;

/**
 * What a {@code kitpick} query is refused in. It ranks some candidates, and where nobody ranks it
 * finds other ones: what counts, changes or deletes all that it finds would do so by chance.
 */
final class Refusals {

  /** Throws at the query, however deep it is. */
  private static final QueryBuilderVisitor NOWHERE =
      new QueryBuilderVisitor() {
        @Override
        public void accept(QueryBuilder query) {
          if (query instanceof KitpickQueryBuilder) {
            throw new IllegalArgumentException(
                "[kitpick] filters no indexes: it ranks what one catalog holds. Name the indexes,"
                    + " or filter with a query of words or values");
          }
        }

        @Override
        public QueryBuilderVisitor getChildVisitor(BooleanClause.Occur occur) {
          return this;
        }
      };

  private Refusals() {}

  /**
   * Refuses requests that copy, change or delete what the query finds.
   *
   * @throws IllegalArgumentException where the request selects its documents so
   */
  static void check(AbstractBulkByScrollRequest<?> request) {
    SearchSourceBuilder source = request.getSearchRequest().source();
    if (source != null && source.query() instanceof KitpickQueryBuilder) {
      throw new IllegalArgumentException(
          "[kitpick] selects no documents to copy, change or delete: search first, then name the"
              + " ids with [terms]");
    }
  }

  /**
   * Refuses a request for fields whose {@code index_filter} is or holds the query: the engine would
   * leave out every index, without a word.
   *
   * @throws IllegalArgumentException where it does
   */
  static void check(FieldCapabilitiesRequest request) {
    if (request.indexFilter() != null) {
      request.indexFilter().visit(NOWHERE);
    }
  }

  /**
   * Refuses parts of a search that the query would have to ignore.
   *
   * @throws IllegalArgumentException where there is one
   */
  static void check(SearchRequest request, Options options) {
    SearchSourceBuilder source = request.source();
    if (isCount(source)) {
      throw new IllegalArgumentException(
          "[kitpick] counts nothing: how many candidates there are says nothing about the index."
              + " Count with a query of words or filters");
    }
    if (source.terminateAfter() != SearchContext.DEFAULT_TERMINATE_AFTER) {
      throw new IllegalArgumentException(
          "[kitpick] knows no [terminate_after]: it would leave out ranked hits at random."
              + " ext.kitpick.deadline_ms bounds the time");
    }
    if (!source.indexBoosts().isEmpty()) {
      throw new IllegalArgumentException(
          "[kitpick] asks one index, and knows no [indices_boost]: its [boost] is the score of the"
              + " first hit");
    }
    List<String> ignored = ignored(options);
    if (!ignored.isEmpty()) {
      throw new IllegalArgumentException(
          "[kitpick] as a query has no use for "
              + ignored
              + " of ext.kitpick: it takes profile, deadline_ms, on_failure and explain");
    }
  }

  /** As {@code _count} asks: for an exact total, and nothing besides. */
  private static boolean isCount(SearchSourceBuilder source) {
    Integer tracked = source.trackTotalHitsUpTo();
    return source.size() == 0
        && tracked != null
        && tracked == SearchContext.TRACK_TOTAL_HITS_ACCURATE
        && source.aggregations() == null
        && source.suggest() == null;
  }

  private static List<String> ignored(Options options) {
    Map<String, Object> said = new LinkedHashMap<>();
    said.put("query", options.query());
    said.put("query_path", options.queryPath());
    said.put("vector_model", options.vectorModel());
    said.put("k", options.k());
    said.put("window", options.window());
    said.put("rounds", options.rounds());
    said.values().removeIf(Objects::isNull);
    return List.copyOf(said.keySet());
  }
}
