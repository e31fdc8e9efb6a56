package org.kitpick.opensearch.wire;

import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.kitpick.opensearch.wire.WireFixtures.Fixture;
import org.opensearch.common.xcontent.XContentHelper;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.core.xcontent.ToXContent;
import org.opensearch.test.OpenSearchTestCase;

/** Calls and answers of a search that the service leads. */
public class SearchAnswerTests extends OpenSearchTestCase {

  private static SearchAnswer parsed(String json) {
    return SearchAnswer.parse(json.getBytes(StandardCharsets.UTF_8), Set.of("a", "b"));
  }

  public void testSearchesOrARanking() {
    assertEquals(List.of(Map.of("size", 3)), parsed("{\"searches\": [{\"size\": 3}]}").searches());
    SearchAnswer last =
        parsed(
            """
            {"searches": [], "ranking": {"profile": "p", "results": [{"id": "b", "score": 1}]}}""");
    assertTrue(last.searches().isEmpty());
    assertEquals("b", last.ranking().results().get(0).id());
  }

  public void testTheServicesAnswersAreRead() {
    for (Fixture fixture : WireFixtures.searches()) {
      SearchAnswer answer = SearchAnswer.parse(fixture.body(), Set.of("demo/weather/forecast"));
      boolean brought = fixture.call().containsKey("found");
      assertEquals(fixture.name(), brought, answer.searches().isEmpty());
      assertEquals(fixture.name(), brought, answer.ranking() != null);
    }
  }

  public void testTheServiceKnowsEveryFieldThatIsSent() {
    Set<Object> known = new HashSet<>();
    WireFixtures.searches().forEach(fixture -> known.addAll(fixture.call().keySet()));
    SearchCall call =
        new SearchCall("q", "i", Map.of(), 10, "acme", List.of("ann"), Map.of("term", 1), "bm25");
    String json = new String(call.toJson(List.of(), 250), StandardCharsets.UTF_8);
    Map<String, Object> sent = XContentHelper.convertToMap(JsonXContent.jsonXContent, json, false);
    assertTrue(sent.keySet() + " in " + known, known.containsAll(sent.keySet()));
  }

  public void testWhatIsNeitherIsRefused() {
    String many = "{\"size\": 1},".repeat(64) + "{\"size\": 1}";
    for (String body :
        List.of(
            "{}",
            "[]",
            "{\"searches\": [1]}",
            "{\"searches\": {}}",
            "{\"searches\": [" + many + "]}",
            "{\"ranking\": {\"results\": [{\"id\": \"unknown\", \"score\": 1}]}}",
            "{\"ranking\": {}}")) {
      expectThrows(InvalidAnswer.class, () -> parsed(body));
    }
  }

  public void testACallBringsWhatWasFound() {
    SearchCall call =
        new SearchCall(
            "copy a file", "tools-apis-1", Map.of("x", 1), 10, "", List.of(), null, "hybrid");
    List<List<ToXContent>> found =
        List.of(List.of((json, params) -> json.startObject().field("hits", 3).endObject()));
    String json = new String(call.toJson(found, 250), StandardCharsets.UTF_8);
    Map<String, Object> read = XContentHelper.convertToMap(JsonXContent.jsonXContent, json, false);
    assertEquals(List.of(List.of(Map.of("hits", 3))), read.get("found"));
    assertEquals(250, read.get("deadline_ms"));
    assertEquals("hybrid", read.get("profile"));
    assertFalse(read.containsKey("filter"));
  }
}
