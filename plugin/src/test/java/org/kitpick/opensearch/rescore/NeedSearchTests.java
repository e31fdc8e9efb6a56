package org.kitpick.opensearch.rescore;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.kitpick.opensearch.dsl.Dsl;
import org.kitpick.opensearch.wire.Need;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.action.support.IndicesOptions;
import org.opensearch.common.xcontent.XContentHelper;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.index.query.QueryBuilder;
import org.opensearch.index.query.QueryBuilders;
import org.opensearch.index.query.WrapperQueryBuilder;
import org.opensearch.script.Script;
import org.opensearch.search.builder.PointInTimeBuilder;
import org.opensearch.search.builder.SearchSourceBuilder;
import org.opensearch.search.collapse.CollapseBuilder;
import org.opensearch.search.fetch.subphase.highlight.HighlightBuilder;
import org.opensearch.search.pipeline.SearchPipelineService;
import org.opensearch.test.OpenSearchTestCase;

/** The search for what the service asks: never wider than the user's. */
public class NeedSearchTests extends OpenSearchTestCase {

  private static final long LEFT = 321;
  private static final Page WIDENED = new Page(0, 10, 50, true, null, SourceView.WHOLE, null, null);
  private static final Need TOOLS = new Need(List.of("Weather/weather"), null, 0);
  private static final Need NEIGHBOURS = new Need(List.of(), new float[] {1f, 2f}, 70);
  private static final QueryBuilder QUERY =
      QueryBuilders.boolQuery()
          .must(QueryBuilders.matchQuery("text", "rain"))
          .filter(QueryBuilders.termQuery("tenant", "acme"));

  public void testItSearchesWhereTheUserSearches() {
    SearchRequest user = user(new SearchSourceBuilder().query(QUERY));
    user.indices("apis", "of-acme").routing("r").preference("_local");
    user.indicesOptions(IndicesOptions.STRICT_EXPAND_OPEN);
    user.allowPartialSearchResults(false);
    SearchRequest search = only(user, TOOLS);
    assertArrayEquals(user.indices(), search.indices());
    assertEquals("r", search.routing());
    assertEquals("_local", search.preference());
    assertEquals(IndicesOptions.STRICT_EXPAND_OPEN, search.indicesOptions());
    assertEquals(false, search.allowPartialSearchResults());
  }

  public void testItEndsWithTheTimeAndPassesNoPipeline() {
    SearchRequest search = only(user(new SearchSourceBuilder().query(QUERY)), TOOLS);
    assertEquals(LEFT, search.source().timeout().millis());
    assertEquals(LEFT, search.getCancelAfterTimeInterval().millis());
    assertEquals(SearchPipelineService.NOOP_PIPELINE_ID, search.pipeline());
    assertTrue(search.source().ext().isEmpty());
  }

  public void testAToolIsSearchedUnderEveryRestriction() {
    SearchSourceBuilder source = new SearchSourceBuilder().query(QUERY);
    source.postFilter(QueryBuilders.termQuery("effect", "read"));
    Map<String, Object> query = Dsl.asMap(only(user(source), TOOLS).source().query());
    List<?> filters = (List<?>) ((Map<?, ?>) query.get("bool")).get("filter");
    assertEquals(3, filters.size());
    assertTrue(filters.get(0).toString().contains("Weather/weather"));
    assertTrue(unwrapped(filters.get(1)).toString().contains("acme"));
    assertFalse(unwrapped(filters.get(1)).toString().contains("rain"));
    assertTrue(filters.get(2).toString().contains("effect"));
  }

  /** OpenSearch 2 hands the search over as it was before any processor. */
  public void testWhatAProcessorAddedRestrictsAsWell() {
    SearchRequest user = user(new SearchSourceBuilder().query(QUERY));
    QueryBuilder more =
        QueryBuilders.boolQuery().must(QUERY).filter(QueryBuilders.termQuery("public", true));
    SearchRequest ran = user(new SearchSourceBuilder().query(more));
    ran.source().postFilter(QueryBuilders.termQuery("effect", "read"));
    Page page = new Page(0, 10, 50, true, null, SourceView.WHOLE, null, ran);
    Question question = question(user, page, "rain");
    NeedSearch search = new NeedSearch(user, page, question, fields());
    Map<String, Object> query = Dsl.asMap(search.requests(TOOLS, 50, LEFT).get(0).source().query());
    List<?> filters = (List<?>) ((Map<?, ?>) query.get("bool")).get("filter");
    assertEquals("the tool, the search twice, its post filter", 4, filters.size());
    assertFalse(unwrapped(filters.get(1)).toString().contains("public"));
    assertTrue(unwrapped(filters.get(2)).toString().contains("public"));
    assertTrue(filters.get(3).toString().contains("effect"));
    ran.source().minScore(1f);
    assertTrue(search.obstacle().contains("min_score"));
  }

  public void testNeighboursAreFilteredWhileTheyAreSearched() {
    SearchSourceBuilder source = new SearchSourceBuilder().query(QUERY);
    SearchRequest search = only(user(source), NEIGHBOURS);
    assertEquals("no more than may be fetched", 50, search.source().size());
    Map<?, ?> knn = (Map<?, ?>) unwrapped(Dsl.asMap(search.source().query())).get("knn");
    Map<?, ?> options = (Map<?, ?>) knn.get("v");
    assertEquals(List.of(1.0, 2.0), options.get("vector"));
    assertEquals(50, options.get("k"));
    assertTrue(options.get("filter").toString().contains("wrapper"));
  }

  public void testWithoutAVectorFieldNoNeighboursAreSearched() {
    FieldNames none = FieldNames.read("t", "tag", new HashMap<>());
    SearchRequest user = user(new SearchSourceBuilder().query(QUERY));
    NeedSearch search = new NeedSearch(user, WIDENED, question(user, "rain"), none);
    assertEquals(List.of(), search.requests(NEIGHBOURS, 50, LEFT));
  }

  public void testItBringsWhatTheUserAskedToSee() {
    SearchSourceBuilder source = new SearchSourceBuilder().query(QUERY).version(true).size(3);
    source.fetchSource(new String[] {"id"}, new String[] {"x"}).fetchField("tool").from(2);
    source.docValueField("api").seqNoAndPrimaryTerm(true);
    source.pointInTimeBuilder(new PointInTimeBuilder("pit"));
    SearchSourceBuilder search = only(user(source), TOOLS).source();
    assertEquals(source.fetchSource(), search.fetchSource());
    assertEquals(source.fetchFields(), search.fetchFields());
    assertEquals(source.docValueFields(), search.docValueFields());
    assertEquals("pit", search.pointInTimeBuilder().getId());
    assertTrue(search.version());
    assertTrue(search.seqNoAndPrimaryTerm());
    assertEquals(50, search.size());
    assertEquals(-1, search.from());
  }

  /** OpenSearch 2 hands the search over as it was before the window processor. */
  public void testItBringsWhatTheRescorerReadsThoughTheSearchDoesNotSaySo() {
    SearchSourceBuilder widened = new SearchSourceBuilder().query(QUERY).fetchSource("id", null);
    SourceView shown = SourceView.widen(widened, List.of("api"));
    SearchRequest user = user(new SearchSourceBuilder().query(QUERY).fetchSource("id", null));
    Page page = new Page(0, 10, 50, true, null, shown, null, null);
    FieldNames names = FieldNames.read("t", "tag", new HashMap<>());
    NeedSearch search = new NeedSearch(user, page, question(user, "rain"), names);
    SearchSourceBuilder fetched = search.requests(TOOLS, 50, LEFT).get(0).source();
    assertEquals(List.of("api", "id"), List.of(fetched.fetchSource().includes()));
  }

  public void testItHighlightsWhatTheUserSearchedFor() {
    SearchSourceBuilder source = new SearchSourceBuilder().query(QUERY);
    source.highlighter(new HighlightBuilder().field("text"));
    HighlightBuilder search = only(user(source), TOOLS).source().highlighter();
    assertEquals(QUERY, search.highlightQuery());
    source.highlighter().highlightQuery(QueryBuilders.matchAllQuery());
    assertEquals(source.highlighter(), only(user(source), TOOLS).source().highlighter());
  }

  public void testObstacles() {
    SearchRequest user = user(new SearchSourceBuilder().query(QUERY));
    assertNull(search(user, "rain").obstacle());
    assertTrue(search(user, null).obstacle().contains("guessed"));
    user.source().collapse(new CollapseBuilder("tool"));
    assertTrue(search(user, "rain").obstacle().contains("collapse"));
    user.source().collapse(null).minScore(2f);
    assertTrue(search(user, "rain").obstacle().contains("min_score"));
    user.source().derivedField("n", "long", new Script("emit(1)"));
    Page unwidened = Page.of(user);
    FieldNames names = FieldNames.read("t", "tag", new HashMap<>());
    NeedSearch narrow = new NeedSearch(user, unwidened, question(user, "rain"), names);
    assertTrue(narrow.obstacle().contains("kitpick_window"));
  }

  private static SearchRequest only(SearchRequest user, Need need) {
    List<SearchRequest> requests = search(user, "rain").requests(need, 50, LEFT);
    assertEquals(1, requests.size());
    return requests.get(0);
  }

  private static NeedSearch search(SearchRequest user, String named) {
    return new NeedSearch(user, WIDENED, question(user, named), fields());
  }

  private static FieldNames fields() {
    return FieldNames.read("t", "tag", new HashMap<>(Map.of("vector_field", "v")));
  }

  private static Question question(SearchRequest user, String named) {
    return question(user, Page.of(user), named);
  }

  private static Question question(SearchRequest user, Page page, String named) {
    Map<String, Object> said = new HashMap<>();
    if (named != null) {
      said.put("query", named);
    }
    FieldNames names = FieldNames.read("t", "tag", new HashMap<>());
    return Question.of(user, page, Options.read("t", "tag", said), names);
  }

  private static SearchRequest user(SearchSourceBuilder source) {
    return new SearchRequest("apis").source(source);
  }

  /** What stands inside of a query of which only the JSON is known. */
  private static Map<String, Object> unwrapped(Object query) {
    Map<?, ?> wrapper = (Map<?, ?>) ((Map<?, ?>) query).get(WrapperQueryBuilder.NAME);
    byte[] json = java.util.Base64.getDecoder().decode((String) wrapper.get("query"));
    return XContentHelper.convertToMap(
        JsonXContent.jsonXContent, new String(json, java.nio.charset.StandardCharsets.UTF_8), true);
  }
}
