package org.kitpick.opensearch.rescore;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.kitpick.opensearch.rescore.Options.OnFailure;
import org.opensearch.OpenSearchParseException;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.common.io.stream.BytesStreamOutput;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.core.xcontent.XContentParser;
import org.opensearch.search.builder.SearchSourceBuilder;
import org.opensearch.test.OpenSearchTestCase;

public class OptionsTests extends OpenSearchTestCase {

  public void testTheRequestComesBeforeThePipelineBeforeTheDefaults() {
    Options pipeline = read(Map.of("window", 30, "profile", "nnn"));
    Options request = read(Map.of("profile", "bm25", "k", 3));
    Options all = request.over(pipeline.over(Options.DEFAULTS));
    assertEquals("bm25", all.profile());
    assertEquals((Integer) 30, all.window());
    assertEquals((Integer) 3, all.k());
    assertEquals(OnFailure.ORIGINAL, all.onFailure());
    assertEquals((Integer) 2, all.rounds());
  }

  public void testEveryKeyIsTakenOut() {
    Map<String, Object> values = new HashMap<>(everything());
    values.put("trace", true);
    values.put("foreign", 1);
    Options.read("t", "tag", values);
    assertEquals(Map.of("foreign", 1), values);
  }

  public void testValuesOutOfRangeAreRefused() {
    for (Map<String, Object> values :
        List.<Map<String, Object>>of(
            Map.of("k", -1),
            Map.of("k", "three"),
            Map.of("k", 1L << 40),
            Map.of("window", Options.MAX_WINDOW + 1),
            Map.of("deadline_ms", 0),
            Map.of("rounds", 6),
            Map.of("on_failure", "shrug"),
            Map.of("explain", "yes"),
            Map.of("trace", "yes"),
            Map.of("profile", List.of()),
            Map.of("query_path", ".".repeat(1_001)),
            Map.of("query", 3))) {
      expectThrows(OpenSearchParseException.class, () -> read(values));
    }
  }

  public void testAPipelineHasNoQueryOfItsOwn() {
    Map<String, Object> config = new HashMap<>(Map.of("query", "rain"));
    expectThrows(OpenSearchParseException.class, () -> Config.read("t", "tag", config));
  }

  public void testTheExtTravelsToOtherNodes() throws IOException {
    RequestExt ext = parsed(everything());
    try (BytesStreamOutput out = new BytesStreamOutput()) {
      ext.writeTo(out);
      RequestExt back = new RequestExt(out.bytes().streamInput());
      assertEquals(ext, back);
      assertEquals(ext.hashCode(), back.hashCode());
    }
  }

  public void testAnUnknownKeyOfTheExtIsRefused() {
    expectThrows(OpenSearchParseException.class, () -> parsed(Map.of("endpoint", "http://x")));
  }

  public void testAnExtThatIsNoObjectIsRefused() throws IOException {
    for (String json : List.of("\"hybrid\"", "[{\"k\": 1}]", "3", "true")) {
      expectThrows(OpenSearchParseException.class, () -> parsed(json));
    }
    assertEquals(parsed(Map.of()), parsed("null"));
  }

  /** In a cluster that is being upgraded, shards are searched on nodes that know less. */
  public void testANodeOfAnotherVersionTakesTheExtOfANewerOne() throws IOException {
    try (BytesStreamOutput out = new BytesStreamOutput()) {
      out.writeMap(Map.of("k", 3, "of_a_later_version", true));
      RequestExt ext = new RequestExt(out.bytes().streamInput());
      SearchSourceBuilder source = new SearchSourceBuilder().ext(List.of(ext));
      assertEquals((Integer) 3, RequestExt.optionsOf(new SearchRequest().source(source)).k());
    }
  }

  private static Map<String, Object> everything() {
    return Map.of(
        "query",
        "rain",
        "query_path",
        "query.match.text",
        "profile",
        Map.of("name", "p", "stages", List.of(Map.of("stage", "fuse"))),
        "vector_model",
        "m",
        "k",
        3,
        "window",
        20,
        "deadline_ms",
        100,
        "on_failure",
        "fail",
        "rounds",
        1,
        "explain",
        false);
  }

  private static Options read(Map<String, Object> values) {
    return Options.read("t", "tag", new HashMap<>(values));
  }

  private RequestExt parsed(Map<String, Object> values) throws IOException {
    return parsed(JsonXContent.contentBuilder().map(values).toString());
  }

  /** As it is read inside of a body. */
  private RequestExt parsed(String json) throws IOException {
    try (XContentParser parser = createParser(JsonXContent.jsonXContent, json)) {
      parser.nextToken();
      return RequestExt.fromXContent(parser);
    }
  }
}
