package org.kitpick.opensearch.wire;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.opensearch.test.OpenSearchTestCase;

public class VectorsTests extends OpenSearchTestCase {

  public void testThereAndBack() {
    List<Object> values = new ArrayList<>();
    for (int i = randomIntBetween(1, 50); i > 0; i--) {
      values.add(randomBoolean() ? (Object) randomFloat() : (Object) randomInt(9));
    }
    float[] back = Vectors.decode(Vectors.encode(values));
    for (int i = 0; i < back.length; i++) {
      assertEquals(((Number) values.get(i)).floatValue(), back[i], 0f);
    }
  }

  public void testTheBytesAreLittleEndianFloats() {
    assertEquals("AACAPwAAAMA=", Vectors.encode(List.of(1.0, -2)));
  }

  public void testWhatIsNoVector() {
    assertNull(Vectors.encode(null));
    assertNull(Vectors.encode("text"));
    assertNull(Vectors.encode(List.of()));
    assertNull(Vectors.encode(List.of("1")));
    assertNull(Vectors.encode(Arrays.asList(1.0, null)));
    assertNull(Vectors.encode(List.of(Double.NaN)));
    assertNull(Vectors.encode(List.of(1e300)));
    assertNull(Vectors.encode(Collections.nCopies(Vectors.MAX_DIMENSIONS + 1, 1.0)));
    for (String text : List.of("", "?", "AAA=", "AADAfw==", "AACAfw==")) {
      expectThrows(InvalidAnswer.class, () -> Vectors.decode(text));
    }
  }
}
