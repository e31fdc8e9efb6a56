package org.kitpick.opensearch.wire;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.opensearch.common.xcontent.XContentHelper;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.core.xcontent.XContentBuilder;

/** Requests and answers of the real service, as its own tests pin them. */
public final class WireFixtures {

  /** One exchange. */
  public record Fixture(String name, Map<?, ?> request, Map<?, ?> response) {

    public int status() {
      return (int) response.get("status");
    }

    public byte[] body() {
      return json((Map<?, ?>) response.get("body"));
    }

    Map<?, ?> call() {
      return (Map<?, ?>) request.get("body");
    }
  }

  private WireFixtures() {}

  public static List<Fixture> rescorings() {
    return named("rescore-.*\\.json");
  }

  public static List<Fixture> searches() {
    return named("(search|documents)-.*\\.json");
  }

  public static List<Fixture> errors() {
    return named("error-.*\\.json");
  }

  private static List<Fixture> named(String pattern) {
    Path folder = Path.of(System.getProperty("kitpick.wire.fixtures"));
    try (Stream<Path> files = Files.list(folder)) {
      return files
          .filter(file -> file.getFileName().toString().matches(pattern))
          .sorted()
          .map(WireFixtures::read)
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Fixture read(Path file) {
    try {
      Map<String, Object> whole =
          XContentHelper.convertToMap(JsonXContent.jsonXContent, Files.readString(file), true);
      return new Fixture(
          file.getFileName().toString(),
          (Map<?, ?>) whole.get("request"),
          (Map<?, ?>) whole.get("response"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @SuppressWarnings("unchecked") // the keys of parsed JSON are texts
  static byte[] json(Map<?, ?> map) {
    try (XContentBuilder json = JsonXContent.contentBuilder()) {
      return json.map((Map<String, ?>) map).toString().getBytes("UTF-8");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
