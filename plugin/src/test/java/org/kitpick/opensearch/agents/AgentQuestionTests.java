package org.kitpick.opensearch.agents;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.kitpick.opensearch.catalog.KitpickQueryBuilder;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.index.query.QueryBuilder;
import org.opensearch.index.query.QueryBuilders;
import org.opensearch.test.OpenSearchTestCase;

/** What an agent's parameters become, and what they are refused for. */
public class AgentQuestionTests extends OpenSearchTestCase {

  private static final Map<String, Object> MADE = Map.of("index", "tools");

  private static QueryBuilder asked(Map<String, String> said) {
    return new AgentQuestion(MADE, said).search().source().query();
  }

  private static QueryBuilder query(String text) {
    return new KitpickQueryBuilder(text, null, "", List.of());
  }

  private static String refusal(Map<String, Object> made, Map<String, String> said) {
    return expectThrows(
            IllegalArgumentException.class, () -> new AgentQuestion(made, said).search())
        .getMessage();
  }

  public void testWhatTheModelSaysComesBeforeTheQuestion() {
    assertEquals(query("make a copy"), asked(Map.of("question", "make a copy")));
    assertEquals(
        query("make a copy"),
        asked(Map.of("question", "…", "input", "{\"text\": \"make a copy\"}")));
    assertEquals(query("make a copy"), asked(Map.of("question", "…", "input", "make a copy")));
    assertEquals(
        query("make a copy"), asked(Map.of("question", "make a copy", "input", "{\"x\": 1}")));
    assertEquals(query("{a} copy"), asked(Map.of("input", "{a} copy")));
    assertEquals(query("of $1"), asked(Map.of("input", "of ${parameters.x}", "x", "$1")));
  }

  public void testWhatTheMakerSetIsNotForTheModelToChange() {
    Map<String, Object> made =
        Map.of(
            "index", "tools", "size", 7, "tenant", "acme", "principals", "ann,bob", "filter", "{}");
    Map<String, String> said =
        Map.of(
            "text",
            "copy",
            "index",
            "others",
            "tenant",
            "globex",
            "principals",
            "eve",
            "size",
            "1");
    SearchRequest search = new AgentQuestion(made, said).search();
    assertArrayEquals(new String[] {"tools"}, search.indices());
    assertEquals(7, search.source().size());
    assertEquals(
        new KitpickQueryBuilder(
            "copy", QueryBuilders.wrapperQuery("{}"), "acme", List.of("ann", "bob")),
        search.source().query());
  }

  public void testWhatTheMakerSetToNothingIsNotSet() {
    Map<String, Object> made = new HashMap<>(MADE);
    List.of("tenant", "principals", "filter", "size").forEach(key -> made.put(key, null));
    SearchRequest search = new AgentQuestion(made, Map.of("text", "copy")).search();
    assertEquals(query("copy"), search.source().query());
    assertEquals(5, search.source().size());
  }

  public void testWhatIsMissingOrWrongIsNamed() {
    assertTrue(refusal(Map.of(), Map.of("text", "copy")).contains("[index]"));
    assertTrue(refusal(MADE, Map.of("input", "{\"words\": \"copy\"}")).contains("[text]"));
    for (Object wrong : List.of(0, "51", "many", List.of(5))) {
      String said = refusal(Map.of("index", "tools", "size", wrong), Map.of("text", "copy"));
      assertTrue(said, said.contains("[size]"));
    }
    for (Object list : List.of(List.of("ann"), "[\"ann\"]")) {
      String said = refusal(Map.of("index", "tools", "principals", list), Map.of("text", "copy"));
      assertTrue(said, said.contains("commas"));
    }
  }
}
