package org.kitpick.opensearch.catalog;

import java.util.List;
import org.kitpick.opensearch.wire.RescoreAnswer.Hit;
import org.opensearch.index.query.BoolQueryBuilder;
import org.opensearch.index.query.MatchNoneQueryBuilder;
import org.opensearch.index.query.QueryBuilder;
import org.opensearch.index.query.QueryBuilders;

/**
 * The query that finds ranked documents in their order: the n-th has the score 1/n. Everything else
 * of a search (pages, sources, aggregations, highlights) is the search engine's own.
 */
final class RankedQuery {

  private RankedQuery() {}

  static BoolQueryBuilder of(List<Hit> ranked, KitpickQueryBuilder asked) {
    return ofIds(ranked.stream().map(Hit::id).toList(), asked);
  }

  static BoolQueryBuilder ofIds(List<String> ranked, KitpickQueryBuilder asked) {
    BoolQueryBuilder query = QueryBuilders.boolQuery().minimumShouldMatch(1);
    for (int i = 0; i < ranked.size(); i++) {
      QueryBuilder one = QueryBuilders.termQuery("id", ranked.get(i));
      query.should(QueryBuilders.constantScoreQuery(one).boost(1f / (i + 1)));
    }
    if (ranked.isEmpty()) {
      query.should(new MatchNoneQueryBuilder());
    }
    if (asked.condition() != null) {
      query.filter(asked.condition());
    }
    return query.boost(asked.boost()).queryName(asked.queryName());
  }

  /** The rank of a hit of such a query; 0 where it has no score. */
  static int rank(float score, float boost) {
    return score > 0 ? Math.round(boost / score) : 0;
  }
}
