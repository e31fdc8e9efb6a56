package org.kitpick.opensearch.catalog;

import java.util.List;
import org.kitpick.opensearch.wire.RescoreAnswer.Hit;
import org.opensearch.index.query.BoolQueryBuilder;
import org.opensearch.index.query.ConstantScoreQueryBuilder;
import org.opensearch.index.query.MatchNoneQueryBuilder;
import org.opensearch.index.query.QueryBuilder;
import org.opensearch.index.query.QueryBuilders;
import org.opensearch.test.OpenSearchTestCase;

/** The query that stands for a ranking. */
public class RankedQueryTests extends OpenSearchTestCase {

  private static final QueryBuilder ACME = QueryBuilders.termQuery("tenant", "acme");
  private static final KitpickQueryBuilder ASKED =
      new KitpickQueryBuilder("copy a file", ACME, "", List.of());

  public void testEveryRankHasAScoreOfItsOwn() {
    float before = Float.POSITIVE_INFINITY;
    for (int rank = 1; rank <= 1_000; rank++) {
      float score = 1f / rank;
      assertTrue(score < before);
      assertEquals(rank, RankedQuery.rank(score, 1f));
      assertEquals(rank, RankedQuery.rank(0.3f * score, 0.3f));
      before = score;
    }
    assertEquals(0, RankedQuery.rank(Float.NaN, 1f));
  }

  public void testTheBestComesFirstAndTheFilterStays() {
    BoolQueryBuilder query =
        RankedQuery.of(
            List.of(new Hit("b", -3f, null, List.of()), new Hit("a", 7f, 0.5, List.of())), ASKED);
    assertEquals(List.of(ACME), query.filter());
    assertEquals(2, query.should().size());
    ConstantScoreQueryBuilder first = (ConstantScoreQueryBuilder) query.should().get(0);
    assertEquals(QueryBuilders.termQuery("id", "b"), first.innerQuery());
    assertTrue(first.boost() > query.should().get(1).boost());
  }

  public void testNothingRankedFindsNothing() {
    assertEquals(List.of(new MatchNoneQueryBuilder()), RankedQuery.of(List.of(), ASKED).should());
  }
}
