package org.kitpick.opensearch.rescore;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.opensearch.OpenSearchParseException;
import org.opensearch.common.io.stream.BytesStreamOutput;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.core.xcontent.XContentParser;
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
    String json = JsonXContent.contentBuilder().map(values).toString();
    try (XContentParser parser = createParser(JsonXContent.jsonXContent, json)) {
      return RequestExt.fromXContent(parser);
    }
  }
}
