package org.kitpick.opensearch.catalog;

import java.util.List;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.index.query.BoolQueryBuilder;
import org.opensearch.index.query.MatchNoneQueryBuilder;
import org.opensearch.index.query.QueryBuilder;
import org.opensearch.index.query.QueryBuilders;
import org.opensearch.search.builder.SearchSourceBuilder;

/**
 * The query that finds ranked documents in their order: the n-th has the score 1/n. Everything else
 * of a search (pages, sources, aggregations, highlights) is the search engine's own.
 */
final class RankedQuery {

  /** Documents that a session may have ended since they were ranked. */
  private static final int GONE = 50;

  private RankedQuery() {}

  /**
   * The query for these ids.
   *
   * @param ranked best first
   * @param inOrder how many of the first are told apart by their scores; all others share one below
   */
  static BoolQueryBuilder of(List<String> ranked, int inOrder, KitpickQueryBuilder asked) {
    BoolQueryBuilder query = QueryBuilders.boolQuery().minimumShouldMatch(1);
    int told = Math.min(inOrder, ranked.size());
    for (int i = 0; i < told; i++) {
      query.should(scored(QueryBuilders.termQuery("id", ranked.get(i)), i + 1));
    }
    if (told < ranked.size()) {
      List<String> others = ranked.subList(told, ranked.size());
      query.should(scored(QueryBuilders.termsQuery("id", others), told + 1));
    }
    if (ranked.isEmpty()) {
      query.should(new MatchNoneQueryBuilder());
    }
    if (asked.condition() != null) {
      query.filter(asked.condition());
    }
    return query.boost(asked.boost()).queryName(asked.queryName());
  }

  /**
   * How many have to be told apart for a search: those up to the end of its page, and a few more in
   * case some are gone, where nothing but the page depends on the order. A query of hundreds of
   * clauses costs as much as all else in this search.
   */
  static int inOrder(SearchRequest request) {
    SearchSourceBuilder source = request.source();
    boolean onlyThePage =
        request.scroll() == null
            && source.searchAfter() == null
            && source.aggregations() == null
            && source.collapse() == null
            && source.postFilter() == null
            && source.minScore() == null
            && isEmpty(source.sorts())
            && isEmpty(source.rescores());
    int size = source.size() < 0 ? CatalogSearch.DEFAULT_SIZE : source.size();
    long page = (long) Math.max(0, source.from()) + size + GONE;
    return onlyThePage ? (int) Math.min(page, Integer.MAX_VALUE) : Integer.MAX_VALUE;
  }

  private static boolean isEmpty(List<?> list) {
    return list == null || list.isEmpty();
  }

  private static QueryBuilder scored(QueryBuilder query, int rank) {
    return QueryBuilders.constantScoreQuery(query).boost(1f / rank);
  }

  /** The rank of a hit of such a query; 0 where it has no score. */
  static int rank(float score, float boost) {
    return score > 0 ? Math.round(boost / score) : 0;
  }
}
