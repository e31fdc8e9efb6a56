package org.kitpick.opensearch.wire;

import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.kitpick.opensearch.wire.WireFixtures.Fixture;
import org.opensearch.test.OpenSearchTestCase;

public class RescoreAnswerTests extends OpenSearchTestCase {

  public void testEveryAnswerOfTheServiceIsUnderstood() {
    List<Fixture> fixtures = WireFixtures.rescorings();
    assertFalse("no wire fixtures", fixtures.isEmpty());
    for (Fixture fixture : fixtures) {
      assertEquals(fixture.name(), 200, fixture.status());
      RescoreAnswer answer = RescoreAnswer.parse(fixture.body(), idsOf(fixture));
      List<?> expected = (List<?>) ((Map<?, ?>) fixture.response().get("body")).get("results");
      assertEquals(fixture.name(), expected.size(), answer.results().size());
      for (int i = 0; i < expected.size(); i++) {
        Map<?, ?> result = (Map<?, ?>) expected.get(i);
        assertEquals(result.get("id"), answer.results().get(i).id());
        assertEquals(
            ((Number) result.get("score")).floatValue(), answer.results().get(i).score(), 0f);
        assertEquals(result.get("reasons"), answer.results().get(i).reasons());
      }
      assertEquals(1.0, answer.totalMillis(), 0.0);
    }
  }

  public void testNeedOfToolsIsRead() {
    Map<?, ?> body = (Map<?, ?>) named("rescore-need-tools-1.json").response().get("body");
    Object tools = ((Map<?, ?>) body.get("need")).get("apis_of_tools");
    RescoreAnswer answer = answerIn("rescore-need-tools-1.json");
    assertFalse("the fixture asks for a tool", answer.need().tools().isEmpty());
    assertEquals(tools, answer.need().tools());
    assertNull(answer.need().vector());
  }

  public void testNeedOfNeighboursIsRead() {
    RescoreAnswer answer = answerIn("rescore-need-neighbours-1.json");
    assertTrue(answer.need().tools().isEmpty());
    assertEquals(9, answer.need().k());
    assertEquals(4, answer.need().vector().length);
  }

  public void testTheServiceSaysWhatItCouldNotDo() {
    RescoreAnswer answer = answerIn("rescore-degraded.json");
    assertFalse(answer.degraded().isEmpty());
    assertTrue(answer.degraded().get(0).containsKey("stage"));
  }

  public void testAbstainingIsPassedOn() {
    assertEquals(true, answerIn("rescore-abstained.json").notes().get("abstained"));
  }

  public void testWhatIsNoAnswer() {
    for (String body :
        List.of(
            "",
            "nothing",
            "[]",
            "{}",
            "{\"results\": 3}",
            "{\"results\": []}",
            "{\"results\": [3]}",
            "{\"results\": [{\"id\": \"a\"}]}",
            "{\"results\": [{\"id\": \"a\", \"score\": NaN}]}",
            "{\"results\": [{\"id\": \"a\", \"score\": 1e300}]}",
            "{\"results\": [{\"id\": \"b\", \"score\": 1}]}",
            "{\"results\": [{\"id\": \"a\", \"score\": 1}, {\"id\": \"a\", \"score\": 1}]}",
            "{\"results\": [], \"need\": {\"apis_of_tools\": \"x\"}}",
            "{\"results\": [], \"need\": {\"neighbours\": {\"vector\": \"AAA=\", \"k\": 1}}}",
            "{\"results\": [], \"timings\": {\"total\": \"long\"}}",
            "{\"results\": []} {\"results\": []}",
            "{\"results\": [")) {
      byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
      expectThrows(InvalidAnswer.class, () -> RescoreAnswer.parse(bytes, Set.of("a")));
    }
  }

  public void testFieldsOfALaterProtocolAreIgnored() {
    String body = "{\"results\": [{\"id\": \"a\", \"score\": 1, \"new\": {}}], \"newer\": [1]}";
    RescoreAnswer answer = RescoreAnswer.parse(body.getBytes(StandardCharsets.UTF_8), Set.of("a"));
    assertEquals(1, answer.results().size());
    assertTrue(answer.need().isEmpty());
  }

  public void testAnyCutOfAnAnswerIsNoAnswer() {
    Fixture fixture = named("rescore-default.json");
    byte[] whole = fixture.body();
    for (int length = 0; length < whole.length; length += randomIntBetween(1, 20)) {
      byte[] part = java.util.Arrays.copyOf(whole, length);
      expectThrows(InvalidAnswer.class, () -> RescoreAnswer.parse(part, idsOf(fixture)));
    }
  }

  private static RescoreAnswer answerIn(String name) {
    Fixture fixture = named(name);
    return RescoreAnswer.parse(fixture.body(), idsOf(fixture));
  }

  private static Fixture named(String name) {
    return WireFixtures.rescorings().stream()
        .filter(each -> each.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  private static Set<String> idsOf(Fixture fixture) {
    Set<String> ids = new HashSet<>();
    for (String list : List.of("candidates", "fetched")) {
      if (fixture.call().get(list) instanceof List<?> items) {
        items.forEach(item -> ids.add((String) ((Map<?, ?>) item).get("id")));
      }
    }
    return ids;
  }
}
