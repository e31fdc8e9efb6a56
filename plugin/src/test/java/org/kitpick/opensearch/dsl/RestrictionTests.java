package org.kitpick.opensearch.dsl;

import java.util.List;
import java.util.Map;
import org.opensearch.common.xcontent.XContentHelper;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.index.query.QueryBuilders;
import org.opensearch.test.OpenSearchTestCase;

public class RestrictionTests extends OpenSearchTestCase {

  public void testTheScoredTextRestrictsNothing() {
    assertNull(restriction("{'match': {'text': {'query': 'rain', 'operator': 'OR'}}}"));
    assertNull(restriction("{'match': {'text': 'rain'}}"));
    assertNull(restriction("{'multi_match': {'query': 'rain', 'fields': ['a', 'b']}}"));
    assertNull(restriction("{'match_all': {}}"));
    assertNull(Restriction.of(null, "rain"));
  }

  public void testAnyOtherTextDoes() {
    assertKept("{'match': {'tenant': {'query': 'acme'}}}");
    assertKept("{'multi_match': {'query': 'acme', 'fields': ['tenant']}}");
    assertKept("{'query_string': {'query': 'rain'}}");
  }

  public void testWithoutANamedTextNoTextIsTakenForScoring() {
    Map<String, Object> query = parsed("{'match': {'text': 'rain'}}");
    assertEquals(query, Restriction.of(query, null));
  }

  public void testAVectorRestrictsByItsFilterAlone() {
    assertNull(restriction("{'knn': {'v': {'vector': [1, 2], 'k': 5}}}"));
    assertEquals(
        parsed("{'term': {'a': 1}}"),
        restriction("{'knn': {'v': {'vector': [1], 'k': 5, 'filter': {'term': {'a': 1}}}}}"));
  }

  public void testFiltersOfABoolAreKept() {
    String scored = "'must': [{'match': {'text': 'rain'}}]";
    assertEquals(
        parsed("{'bool': {'filter': [{'term': {'a': 1}}], 'must_not': [{'term': {'b': 1}}]}}"),
        restriction(
            "{'bool': {"
                + scored
                + ", 'filter': [{'term': {'a': 1}}], 'must_not': [{'term': {'b': 1}}]}}"));
    assertNull(restriction("{'bool': {" + scored + ", 'should': [{'term': {'a': 1}}]}}"));
    assertEquals(
        parsed(
            "{'bool': {'filter': [{'bool': {'should': [{'term': {'a': 1}}],"
                + " 'minimum_should_match': 1}}]}}"),
        restriction(
            "{'bool': {"
                + scored
                + ", 'should': [{'term': {'a': 1}}], 'minimum_should_match': 1}}"));
  }

  /** A tenant's name may be what somebody searches for. */
  public void testOfSeveralClausesWithTheTextAnyMayBeAFilter() {
    for (String both :
        List.of(
            "[{'match': {'text': 'rain'}}, {'match': {'tenant': 'rain'}}]",
            "[{'bool': {'should': [{'match': {'text': 'rain'}}]}}, {'match': {'tenant': 'rain'}}]",
            "[{'knn': {'v': {'vector': [1], 'k': 5}}}, {'match': {'tenant': 'rain'}}]")) {
      assertEquals(
          parsed("{'bool': {'filter': " + both + "}}"),
          restriction("{'bool': {'must': " + both + "}}"));
    }
  }

  public void testAClauseThatEverythingMatchesIsNoFilter() {
    assertNull(restriction("{'bool': {'must': [{'match_all': {}}, {'match': {'text': 'rain'}}]}}"));
  }

  public void testOneShouldClauseThatScoresSetsAllFree() {
    assertNull(
        restriction("{'bool': {'should': [{'match': {'text': 'rain'}}, {'term': {'a': 1}}]}}"));
  }

  public void testShouldClausesThatNeedNotMatchRestrictWhereNothingElseDoes() {
    String should = "'should': [{'term': {'a': 1}}], 'minimum_should_match': 0";
    assertEquals(
        parsed(
            "{'bool': {'filter': [{'bool': {'should': [{'term': {'a': 1}}],"
                + " 'minimum_should_match': 1}}]}}"),
        restriction("{'bool': {" + should + "}}"));
    assertNull(restriction("{'bool': {'must': [{'match': {'text': 'rain'}}], " + should + "}}"));
  }

  public void testACountOfShouldClausesIsKeptWhole() {
    String should = "[{'match': {'text': 'rain'}}, {'term': {'a': 1}}]";
    assertEquals(
        parsed(
            "{'bool': {'filter': [{'bool': {'should': "
                + should
                + ", 'minimum_should_match': '2'}}]}}"),
        restriction("{'bool': {'should': " + should + ", 'minimum_should_match': '2'}}"));
  }

  public void testAHybridQueryIsRestrictedByWhatAllItsPartsAre() {
    assertNull(
        restriction("{'hybrid': {'queries': [{'match': {'text': 'rain'}}, {'term': {'a': 1}}]}}"));
    assertEquals(
        parsed("{'bool': {'filter': [{'term': {'t': 1}}]}}"),
        restriction(
            "{'hybrid': {'queries': [{'match': {'text': 'rain'}}], 'filter': {'term': {'t': 1}}}}"));
  }

  public void testWhatIsNotUnderstoodIsKept() {
    assertKept("{'neural': {'v': {'query_text': 'rain', 'k': 5}}}");
    assertKept("{'nested': {'path': 'p', 'query': {'match': {'text': 'rain'}}}}");
    assertKept("{'constant_score': {'filter': {'match': {'text': 'rain'}}}}");
    assertKept("{'script_score': {'query': {'match': {'text': 'rain'}}, 'min_score': 3}}");
    assertKept("{'knn': {'v': 3}}");
    assertKept("{'a': {}, 'b': {}}");
  }

  public void testTheFormThatOpenSearchWritesItselfIsUnderstood() {
    Map<String, Object> query =
        Dsl.asMap(
            QueryBuilders.boolQuery()
                .must(QueryBuilders.matchQuery("text", "rain"))
                .filter(QueryBuilders.termQuery("tenant", "acme")));
    assertEquals(
        Map.of("bool", Map.of("filter", ((Map<?, ?>) query.get("bool")).get("filter"))),
        Restriction.of(query, "rain"));
  }

  private static void assertKept(String query) {
    assertEquals(parsed(query), restriction(query));
  }

  private static Map<String, Object> restriction(String query) {
    return Restriction.of(parsed(query), "rain");
  }

  private static Map<String, Object> parsed(String json) {
    return XContentHelper.convertToMap(JsonXContent.jsonXContent, json.replace('\'', '"'), true);
  }
}
