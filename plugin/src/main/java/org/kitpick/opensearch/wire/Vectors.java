package org.kitpick.opensearch.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Base64;
import java.util.List;

/** Vectors on the wire: float32, little-endian, as base64. */
public final class Vectors {

  /** Above this a field is no embedding of ours; the protocol refuses it too. */
  static final int MAX_DIMENSIONS = 16_384;

  private Vectors() {}

  /**
   * Base64 of numbers, or of what is base64 already; null where the value is no vector of finite
   * numbers.
   */
  public static String encode(Object value) {
    if (value instanceof String text) {
      return isVector(text) ? text : null;
    }
    if (!(value instanceof List<?> numbers) || !isUsableLength(numbers.size())) {
      return null;
    }
    ByteBuffer bytes =
        ByteBuffer.allocate(Float.BYTES * numbers.size()).order(ByteOrder.LITTLE_ENDIAN);
    for (Object number : numbers) {
      if (!(number instanceof Number n) || !Float.isFinite(n.floatValue())) {
        return null;
      }
      bytes.putFloat(n.floatValue());
    }
    return Base64.getEncoder().encodeToString(bytes.array());
  }

  /**
   * The inverse of {@link #encode}.
   *
   * @throws InvalidAnswer where the text is no vector of finite numbers
   */
  public static float[] decode(String text) {
    byte[] bytes;
    try {
      bytes = Base64.getDecoder().decode(text);
    } catch (IllegalArgumentException e) {
      throw new InvalidAnswer("a vector is not base64");
    }
    if (bytes.length % Float.BYTES != 0 || !isUsableLength(bytes.length / Float.BYTES)) {
      throw new InvalidAnswer("a vector has " + bytes.length + " bytes");
    }
    float[] values = new float[bytes.length / Float.BYTES];
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().get(values);
    for (float value : values) {
      if (!Float.isFinite(value)) {
        throw new InvalidAnswer("a vector holds a value that is not finite");
      }
    }
    return values;
  }

  private static boolean isVector(String text) {
    try {
      return decode(text).length > 0;
    } catch (InvalidAnswer e) {
      return false;
    }
  }

  private static boolean isUsableLength(int length) {
    return length > 0 && length <= MAX_DIMENSIONS;
  }
}
