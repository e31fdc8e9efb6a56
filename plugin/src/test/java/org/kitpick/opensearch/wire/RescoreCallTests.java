package org.kitpick.opensearch.wire;

import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.kitpick.opensearch.wire.Candidate.Place;
import org.kitpick.opensearch.wire.WireFixtures.Fixture;
import org.opensearch.common.xcontent.XContentHelper;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.test.OpenSearchTestCase;

public class RescoreCallTests extends OpenSearchTestCase {

  private static final Candidate FULL =
      new Candidate(
          "d",
          "Weather",
          "weather",
          "forecast",
          "text",
          "AACAPw==",
          new Place(2, 1.5f),
          true,
          "read",
          List.of("city=city.id~9"),
          List.of("forecast.id~9"));
  private static final Candidate BARE =
      new Candidate("f", "", "", "", "", null, null, false, null, List.of(), List.of());

  public void testTheServiceKnowsEveryFieldThatIsSent() {
    Set<String> known = new HashSet<>(Set.of("protocol", "deadline_ms"));
    Set<String> ofCandidates = new HashSet<>();
    for (Fixture fixture : WireFixtures.rescorings()) {
      fixture.call().keySet().forEach(key -> known.add((String) key));
      for (String list : List.of("candidates", "fetched")) {
        if (fixture.call().get(list) instanceof List<?> items) {
          items.forEach(
              item -> ((Map<?, ?>) item).keySet().forEach(key -> ofCandidates.add((String) key)));
        }
      }
    }
    Map<String, Object> sent = sent(call(List.of(FULL), List.of(BARE), Set.of("Weather/weather")));
    assertTrue(sent.keySet() + " in " + known, known.containsAll(sent.keySet()));
    Map<?, ?> candidate = (Map<?, ?>) ((List<?>) sent.get("candidates")).get(0);
    assertTrue(
        candidate.keySet() + " in " + ofCandidates, ofCandidates.containsAll(candidate.keySet()));
  }

  public void testWhatIsSent() {
    Map<String, Object> sent = sent(call(List.of(FULL), List.of(BARE), Set.of("b", "a")));
    assertEquals("what?", sent.get("query"));
    assertEquals(2, sent.get("k"));
    assertEquals(250, sent.get("deadline_ms"));
    assertEquals(List.of("a", "b"), sent.get("complete_tools"));
    Map<?, ?> full = (Map<?, ?>) ((List<?>) sent.get("candidates")).get(0);
    assertEquals(Map.of("rank", 2, "score", 1.5), full.get("first"));
    assertEquals("read", full.get("effect"));
    assertEquals(List.of("city=city.id~9"), full.get("needs"));
    assertEquals(List.of("forecast.id~9"), full.get("gives"));
    Map<?, ?> bare = (Map<?, ?>) ((List<?>) sent.get("fetched")).get(0);
    assertEquals(Set.of("id", "category", "tool", "api", "text"), bare.keySet());
  }

  public void testWhatIsNotThereIsNotSent() {
    RescoreCall call =
        new RescoreCall("q", null, null, null, List.of(), List.of(), Set.of(), false, false);
    assertEquals(
        Set.of("protocol", "query", "k", "deadline_ms", "candidates"), sent(call).keySet());
  }

  public void testDocumentsOfOtherMakersMayBeReadByTheirBestPassage() {
    RescoreCall call =
        new RescoreCall("q", null, null, null, List.of(), List.of(), Set.of(), true, true);
    assertEquals(true, sent(call).get("passages"));
    assertEquals(true, sent(call).get("explain"));
  }

  public void testAScoreThatIsNoNumberIsNotSent() {
    Candidate sorted =
        new Candidate(
            "d", "", "", "", "t", null, new Place(1, Float.NaN), false, null, List.of(), List.of());
    Map<?, ?> candidate =
        (Map<?, ?>)
            ((List<?>) sent(call(List.of(sorted), List.of(), Set.of())).get("candidates")).get(0);
    assertEquals(Map.of("rank", 1), candidate.get("first"));
  }

  public void testAnyTextSurvives() {
    String text = randomUnicodeOfLengthBetween(1, 200) + "\"\\\n\u0000\u2028";
    RescoreCall call =
        new RescoreCall(text, null, null, null, List.of(), List.of(), Set.of(), false, false);
    assertEquals(text, sent(call).get("query"));
  }

  private static RescoreCall call(
      List<Candidate> candidates, List<Candidate> fetched, Set<String> complete) {
    return new RescoreCall(
            "what?",
            Map.of("name", "p"),
            "AACAPw==",
            "model",
            candidates,
            List.of(),
            Set.of(),
            false,
            false)
        .with(fetched, complete);
  }

  private static Map<String, Object> sent(RescoreCall call) {
    String json = new String(call.toJson(250), StandardCharsets.UTF_8);
    return XContentHelper.convertToMap(JsonXContent.jsonXContent, json, true);
  }
}
