package org.kitpick.opensearch.http;

import com.carrotsearch.randomizedtesting.annotations.ThreadLeakFilters;
import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.kitpick.opensearch.guard.FailureReason;
import org.kitpick.opensearch.guard.Failures;
import org.kitpick.opensearch.guard.HttpClientThreads;
import org.kitpick.opensearch.guard.RescoreFailure;
import org.kitpick.opensearch.wire.WireFixtures;
import org.kitpick.opensearch.wire.WireFixtures.Fixture;
import org.opensearch.test.OpenSearchTestCase;

/** The HTTP client against a real server. */
@ThreadLeakFilters(filters = HttpClientThreads.class)
public class HttpRescorerTests extends OpenSearchTestCase {

  private static final int LIMIT = 2_000;
  private static final Map<Integer, FailureReason> REASONS =
      Map.of(
          401, FailureReason.UNAUTHORIZED,
          404, FailureReason.REFUSED,
          422, FailureReason.REFUSED,
          429, FailureReason.BUSY,
          503, FailureReason.SERVICE_ERROR,
          504, FailureReason.TIMEOUT);

  private final ExecutorService executor = Executors.newCachedThreadPool();
  private final List<String> paths = new CopyOnWriteArrayList<>();
  private final List<String> keys = new CopyOnWriteArrayList<>();
  private volatile int status = 200;
  private volatile String searchMillis = "";
  private volatile byte[] answer = "{}".getBytes(StandardCharsets.UTF_8);
  private volatile String key = "";
  private HttpServer server;
  private HttpRescorer http;

  @Override
  public void setUp() throws Exception {
    super.setUp();
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          paths.add(exchange.getRequestURI().toString());
          keys.add(String.valueOf(exchange.getRequestHeaders().getFirst("Authorization")));
          exchange.getRequestBody().readAllBytes();
          exchange.getResponseHeaders().set("Location", "/elsewhere");
          exchange.getResponseHeaders().set("X-Search-Ms", searchMillis);
          exchange.sendResponseHeaders(status, answer.length == 0 ? -1 : answer.length);
          exchange.getResponseBody().write(answer);
          exchange.close();
        });
    server.start();
    http = new HttpRescorer(base("/"), () -> key, LIMIT, executor, null);
  }

  @Override
  public void tearDown() throws Exception {
    server.stop(0);
    http.close();
    executor.shutdownNow();
    super.tearDown();
  }

  public void testEveryErrorOfTheServiceIsNamed() {
    List<Fixture> fixtures = WireFixtures.errors();
    assertTrue(fixtures.size() >= REASONS.size());
    for (Fixture fixture : fixtures) {
      status = fixture.status();
      answer = fixture.body();
      assertEquals(fixture.name(), REASONS.get(status), failure().reason());
    }
  }

  public void testARefusalIsPassedOnInTheServicesWords() {
    Fixture fixture =
        WireFixtures.errors().stream().filter(f -> f.status() == 404).findFirst().get();
    status = 404;
    answer = fixture.body();
    assertTrue(failure().getMessage(), failure().getMessage().contains("no profile"));
  }

  public void testARefusalWithoutSenseIsPassedOnWithout() {
    for (String body :
        List.of("", "<html>", "[]", "{\"error\": 3}", "{\"error\": {\"message\": {}}}")) {
      status = 422;
      answer = body.getBytes(StandardCharsets.UTF_8);
      assertEquals("kitpick: refused: the service answered HTTP 422", failure().getMessage());
    }
  }

  public void testALongRefusalIsCut() {
    status = 400;
    String message = "x".repeat(LIMIT / 2);
    answer = ("{\"error\": {\"message\": \"" + message + "\"}}").getBytes(StandardCharsets.UTF_8);
    assertTrue(failure().getMessage().length() < 400);
  }

  public void testNoRedirectIsFollowed() {
    for (int code : new int[] {301, 302, 303, 307, 308}) {
      status = code;
      assertEquals(FailureReason.SERVICE_ERROR, failure().reason());
    }
    assertEquals(List.of("/v1/rescore"), paths.stream().distinct().toList());
  }

  public void testThePathOfTheEndpointIsKept() {
    try (HttpRescorer below = new HttpRescorer(base("/rank//"), () -> key, LIMIT, executor, null)) {
      below.post(HttpRescorer.RESCORE, new byte[0], bytes -> true, () -> {}).join();
    }
    assertEquals(List.of("/rank/v1/rescore"), paths);
  }

  public void testTheKeyOfTheMomentIsSent() {
    http.post(HttpRescorer.RESCORE, new byte[0], bytes -> true, () -> {}).join();
    key = "renewed";
    http.post(HttpRescorer.RESCORE, new byte[0], bytes -> true, () -> {}).join();
    assertEquals(List.of("null", "Bearer renewed"), keys);
  }

  public void testAKeyThatIsNoHeaderFailsTheCallAndNothingElse() {
    key = "two\nlines";
    assertEquals(FailureReason.INTERNAL, failure().reason());
    assertTrue(paths.isEmpty());
  }

  public void testEveryAnswerMaySayWhatASearchTakes() {
    assertEquals(0, http.searchMillis());
    searchMillis = "412";
    status = 429;
    failure();
    assertEquals(412, http.searchMillis());
    status = 200;
    for (String senseless : List.of("", "-1", "1e9", "9999999999", "soon")) {
      searchMillis = senseless;
      http.post(HttpRescorer.RESCORE, new byte[0], bytes -> true, () -> {}).join();
      assertEquals("what was said before stays", 412, http.searchMillis());
    }
  }

  public void testABodyOfTheLimitIsReadAndALargerOneIsNot() {
    answer = new byte[LIMIT];
    assertEquals(
        LIMIT, http.post(HttpRescorer.RESCORE, new byte[0], bytes -> true, () -> {}).join().length);
    answer = new byte[LIMIT + 1];
    assertEquals(FailureReason.TOO_LARGE, failure().reason());
  }

  public void testABodyIsReadAsLongAsThereIsRoom() {
    AtomicLong room = new AtomicLong(LIMIT);
    answer = new byte[LIMIT];
    for (FailureReason expected : new FailureReason[] {null, FailureReason.TOO_MANY}) {
      CompletableFuture<byte[]> call =
          http.post(HttpRescorer.RESCORE, new byte[0], n -> room.addAndGet(-n) >= 0, () -> {});
      if (expected == null) {
        assertEquals(LIMIT, call.join().length);
      } else {
        Exception failure = expectThrows(CompletionException.class, call::join);
        assertEquals(expected, Failures.of(failure).reason());
      }
    }
  }

  private RescoreFailure failure() {
    return Failures.of(
        expectThrows(
            CompletionException.class,
            () ->
                http.post(HttpRescorer.RESCORE, new byte[0], bytes -> true, () -> {})
                    .orTimeout(300, TimeUnit.SECONDS)
                    .join()));
  }

  private URI base(String path) {
    return URI.create("http://127.0.0.1:" + server.getAddress().getPort() + path);
  }
}
