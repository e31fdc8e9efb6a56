package org.kitpick.opensearch.catalog;

import java.util.List;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.common.unit.TimeValue;
import org.opensearch.index.query.BoolQueryBuilder;
import org.opensearch.index.query.ConstantScoreQueryBuilder;
import org.opensearch.index.query.MatchNoneQueryBuilder;
import org.opensearch.index.query.QueryBuilder;
import org.opensearch.index.query.QueryBuilders;
import org.opensearch.search.aggregations.AggregationBuilders;
import org.opensearch.search.builder.SearchSourceBuilder;
import org.opensearch.search.collapse.CollapseBuilder;
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
    BoolQueryBuilder query = RankedQuery.of(List.of("b", "a"), 10, ASKED);
    assertEquals(List.of(ACME), query.filter());
    assertEquals(2, query.should().size());
    ConstantScoreQueryBuilder first = (ConstantScoreQueryBuilder) query.should().get(0);
    assertEquals(QueryBuilders.termQuery("id", "b"), first.innerQuery());
    assertTrue(first.boost() > query.should().get(1).boost());
  }

  public void testNothingRankedFindsNothing() {
    assertEquals(
        List.of(new MatchNoneQueryBuilder()), RankedQuery.of(List.of(), 10, ASKED).should());
  }

  public void testWhatLiesBehindThePageSharesAScoreBelowIt() {
    BoolQueryBuilder query = RankedQuery.of(List.of("a", "b", "c", "d"), 2, ASKED);
    assertEquals(3, query.should().size());
    ConstantScoreQueryBuilder last = (ConstantScoreQueryBuilder) query.should().get(2);
    assertEquals(QueryBuilders.termsQuery("id", List.of("c", "d")), last.innerQuery());
    assertEquals(1f / 3, last.boost(), 0f);
  }

  public void testAllAreToldApartWhereMoreThanThePageDependsOnIt() {
    SearchSourceBuilder page = new SearchSourceBuilder().from(20).size(5);
    int inOrder = RankedQuery.inOrder(new SearchRequest().source(page));
    assertTrue("" + inOrder, inOrder >= 25 && inOrder < 200);
    SearchSourceBuilder none = new SearchSourceBuilder();
    assertTrue(RankedQuery.inOrder(new SearchRequest().source(none)) >= 10);
    for (SearchSourceBuilder source :
        List.of(
            new SearchSourceBuilder().aggregation(AggregationBuilders.topHits("best")),
            new SearchSourceBuilder().postFilter(ACME),
            new SearchSourceBuilder().minScore(0.01f),
            new SearchSourceBuilder().sort("category"),
            new SearchSourceBuilder().searchAfter(new Object[] {0.5f}),
            new SearchSourceBuilder().from(Integer.MAX_VALUE - 5).size(20),
            new SearchSourceBuilder().collapse(new CollapseBuilder("tool")))) {
      int all = RankedQuery.inOrder(new SearchRequest().source(source));
      assertEquals(source.toString(), Integer.MAX_VALUE, all);
    }
    SearchRequest scroll = new SearchRequest().source(new SearchSourceBuilder());
    assertEquals(
        Integer.MAX_VALUE, RankedQuery.inOrder(scroll.scroll(TimeValue.timeValueMinutes(1))));
  }
}
