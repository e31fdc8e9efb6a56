package org.kitpick.opensearch.rescore;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.opensearch.common.io.stream.BytesStreamOutput;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.core.xcontent.ToXContent;
import org.opensearch.core.xcontent.XContentBuilder;
import org.opensearch.test.OpenSearchTestCase;

public class ReportExtTests extends OpenSearchTestCase {

  private static final ReportExt REPORT =
      new ReportExt(
          new LinkedHashMap<>(
              Map.of(
                  "status",
                  "rescored",
                  "took_ms",
                  1.5,
                  "rounds",
                  2,
                  "abstained",
                  true,
                  "hits",
                  List.of(Map.of("first_score", 0.5f, "reasons", List.of("why"))))));

  public void testItTravelsToOtherNodes() throws IOException {
    try (BytesStreamOutput out = new BytesStreamOutput()) {
      REPORT.writeTo(out);
      ReportExt back = new ReportExt(out.bytes().streamInput());
      assertEquals(REPORT, back);
      assertEquals(REPORT.hashCode(), back.hashCode());
    }
  }

  public void testInJsonItIsCalledAsInTheRequest() throws IOException {
    try (XContentBuilder json = JsonXContent.contentBuilder().startObject()) {
      REPORT.toXContent(json, ToXContent.EMPTY_PARAMS).endObject();
      assertTrue(json.toString().startsWith("{\"kitpick\":{"));
    }
  }
}
