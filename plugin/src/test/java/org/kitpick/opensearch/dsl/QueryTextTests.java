package org.kitpick.opensearch.dsl;

import java.util.List;
import java.util.Map;
import org.opensearch.common.xcontent.XContentHelper;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.test.OpenSearchTestCase;

public class QueryTextTests extends OpenSearchTestCase {

  public void testTheOnlyText() {
    for (String query :
        List.of(
            "{'match': {'text': 'rain'}}",
            "{'match': {'text': {'query': 'rain'}}}",
            "{'match_phrase': {'text': {'query': 'rain'}}}",
            "{'multi_match': {'query': 'rain', 'fields': ['a']}}",
            "{'query_string': {'query': 'rain'}}",
            "{'neural': {'v': {'query_text': 'rain', 'k': 3}}}",
            "{'function_score': {'query': {'match': {'text': 'rain'}}}}",
            "{'hybrid': {'queries': [{'match': {'a': 'rain'}}, {'neural': {'v': {'query_text': 'rain'}}}]}}",
            "{'bool': {'should': [{'match': {'a': 'rain'}}, {'match': {'b': 'rain'}}],"
                + " 'filter': [{'match': {'tenant': 'acme'}}], 'must_not': {'match': {'c': 'x'}}}}")) {
      assertEquals(query, "rain", QueryText.only(parsed(query)));
    }
  }

  public void testNoneOrSeveral() {
    for (String query :
        List.of(
            "{'match_all': {}}",
            "{'match': {'text': ' '}}",
            "{'term': {'text': 'rain'}}",
            "{'knn': {'v': {'vector': [1]}}}",
            "{'bool': {'must': [{'match': {'a': 'rain'}}, {'match': {'b': 'snow'}}]}}")) {
      assertNull(query, QueryText.only(parsed(query)));
    }
  }

  public void testAPath() {
    Map<String, Object> body =
        parsed(
            "{'query': {'bool': {'must': [{'x': 1}, {'match': {'text.en': {'query': 'rain'}}}]}}}");
    assertEquals("rain", QueryText.at(body, "query.bool.must.1.match.text.en.query"));
    for (String path :
        List.of(
            "query",
            "query.bool.must.7.match",
            "query.bool.must.0.x",
            "",
            "a.b",
            "...",
            "query.bool.must.x")) {
      assertNull(path, QueryText.at(body, path));
    }
  }

  public void testAVector() {
    Map<String, Object> query =
        parsed(
            "{'hybrid': {'queries': [{'match_all': {}}, {'knn': {'v': {'vector': [1, 2], 'k': 3}}}]}}");
    assertEquals(List.of(1, 2), QueryVector.of(query, "v"));
    assertNull(QueryVector.of(query, "other"));
    assertNull(QueryVector.of(null, "v"));
  }

  private static Map<String, Object> parsed(String json) {
    return XContentHelper.convertToMap(JsonXContent.jsonXContent, json.replace('\'', '"'), true);
  }
}
