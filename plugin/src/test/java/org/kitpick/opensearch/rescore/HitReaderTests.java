package org.kitpick.opensearch.rescore;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.kitpick.opensearch.wire.Candidate;
import org.opensearch.common.document.DocumentField;
import org.opensearch.core.common.bytes.BytesArray;
import org.opensearch.search.SearchHit;
import org.opensearch.test.OpenSearchTestCase;

public class HitReaderTests extends OpenSearchTestCase {

  public void testFieldsComeFromTheSource() {
    Candidate read =
        read(
            hit(
                "{\"text\": \"Rain\", \"more\": [\"and\", 3], \"category\": \"W\", \"tool\": \"t\","
                    + " \"api\": \"a\", \"v\": [1, -2], \"deprecated\": true, \"effect\": \"read\"}"));
    assertEquals("Rain\nand 3", read.text());
    assertEquals("W", read.category());
    assertEquals("AACAPwAAAMA=", read.vector());
    assertTrue(read.deprecated());
    assertEquals("read", read.effect());
  }

  public void testOrFromTheFieldsThatWereAskedFor() {
    SearchHit hit = hit(null);
    hit.setDocumentField("text", new DocumentField("text", List.of("Rain")));
    hit.setDocumentField("v", new DocumentField("v", List.of(1.0, -2.0)));
    assertEquals("Rain", read(hit).text());
    assertEquals("AACAPwAAAMA=", read(hit).vector());
  }

  public void testAVectorMayBeStoredAsBase64() {
    assertEquals("AACAPwAAAMA=", read(hit("{\"v\": \"AACAPwAAAMA=\"}")).vector());
    assertNull(read(hit("{\"v\": \"AAA=\"}")).vector());
  }

  public void testWhatIsMissingIsEmpty() {
    for (String source : new String[] {null, "{}", "{\"text\": null, \"tool\": {\"x\": 1}}"}) {
      Candidate read = read(hit(source));
      assertEquals("", read.text());
      assertEquals("", read.tool());
      assertNull(read.vector());
      assertNull(read.effect());
      assertEquals(List.of(), read.needs());
      assertEquals(List.of(), read.gives());
      assertFalse(read.deprecated());
    }
  }

  public void testAnEffectThatTheProtocolDoesNotKnowIsNone() {
    assertNull(read(hit("{\"effect\": \"explosive\"}")).effect());
  }

  public void testWhatItNeedsAndGivesIsReadInPart() {
    Candidate read = read(hit("{\"needs\": [\"a=artist.id~9\", 3, null], \"gives\": \"x.id~9\"}"));
    assertEquals(List.of("a=artist.id~9"), read.needs());
    assertEquals(List.of("x.id~9"), read.gives());
    String many = "\"x.id~9\",".repeat(3_000) + "\"" + "y".repeat(500) + "\"";
    assertEquals(100, read(hit("{\"needs\": [" + many + "]}")).needs().size());
    assertEquals(List.of(), read(hit("{\"needs\": [\"" + "y".repeat(500) + "\"]}")).needs());
  }

  public void testLongTextsAreCutBetweenCharacters() {
    String runaway = "x" + "\uD83C\uDF27".repeat(20_000);
    String cut = read(hit("{\"text\": \"" + runaway + "\"}")).text();
    assertEquals(19_999, cut.length());
    assertFalse(Character.isHighSurrogate(cut.charAt(cut.length() - 1)));
  }

  public void testManyDocumentsShareTheRoomOfACall() {
    SearchHit hit = hit("{\"text\": \"" + "x".repeat(30_000) + "\"}");
    assertEquals(2_000, read(hit, 1_000).text().length());
    assertEquals(20_000, read(hit, 1).text().length());
  }

  public void testWhatWasNotReadIsTold() {
    HitReader reader = reader(1_000);
    assertEquals(List.of("no hit holds text_fields[0, 1], counted from 0"), reader.unread());
    reader.read(hit("{\"text\": \"" + "x".repeat(2_000) + "\"}"), "a", null);
    assertEquals(List.of("no hit holds text_fields[1], counted from 0"), reader.unread());
    reader.read(hit("{\"text\": \"" + "x".repeat(2_001) + "\", \"more\": \"y\"}"), "b", null);
    assertEquals(List.of("1 texts were cut after 2000 characters"), reader.unread());
  }

  private static Candidate read(SearchHit hit) {
    return read(hit, 50);
  }

  private static Candidate read(SearchHit hit, int documents) {
    return reader(documents).read(hit, "id", null);
  }

  private static HitReader reader(int documents) {
    FieldNames names =
        FieldNames.read(
            "t",
            "tag",
            new HashMap<>(Map.of("text_fields", List.of("text", "more"), "vector_field", "v")));
    return new HitReader(names, documents, any -> true);
  }

  private static SearchHit hit(String source) {
    SearchHit hit = new SearchHit(1, "id", new HashMap<>(), new HashMap<>());
    if (source != null) {
      hit.sourceRef(new BytesArray(source.getBytes(StandardCharsets.UTF_8)));
    }
    return hit;
  }
}
