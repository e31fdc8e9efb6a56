package org.toolrank.opensearch.guard;

import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.opensearch.test.OpenSearchTestCase;
import org.toolrank.opensearch.http.HttpRescorer;
import org.toolrank.opensearch.stats.Statistics;
import org.toolrank.opensearch.wire.RescoreAnswer;

/** The guards around a real HTTP client and server. */
@com.carrotsearch.randomizedtesting.annotations.ThreadLeakFilters(filters = HttpClientThreads.class)
public class RescorerTests extends OpenSearchTestCase {

  private final ExecutorService executor = Executors.newCachedThreadPool();
  private final AtomicInteger status = new AtomicInteger(200);
  private final AtomicInteger asked = new AtomicInteger();
  private final AtomicLong now = new AtomicLong();
  private final Statistics statistics = new Statistics();
  private HttpServer server;
  private HttpRescorer http;
  private Rescorer rescorer;

  @Override
  public void setUp() throws Exception {
    super.setUp();
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/v1/rescore",
        exchange -> {
          asked.incrementAndGet();
          exchange.getRequestBody().readAllBytes();
          byte[] body =
              "{\"results\": [{\"id\": \"a\", \"score\": 1.0}]}".getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(status.get(), body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
    http = new HttpRescorer(endpoint(server.getAddress().getPort()), () -> "", 1000, executor);
    CircuitBreaker breaker = new CircuitBreaker(3, 100, now::get);
    rescorer = new Rescorer(http, breaker, 2, statistics);
  }

  @Override
  public void tearDown() throws Exception {
    server.stop(0);
    http.close();
    executor.shutdownNow();
    super.tearDown();
  }

  public void testAnAnswerIsChecked() {
    assertEquals("a", call(Set.of("a")).results().get(0).id());
    assertEquals(Trouble.INVALID_ANSWER, troubleOf(Set.of("b")));
  }

  public void testAnOpenCircuitSparesTheService() {
    status.set(500);
    for (int i = 0; i < 3; i++) {
      assertEquals(Trouble.SERVICE_ERROR, troubleOf(Set.of("a")));
    }
    assertEquals(Trouble.CIRCUIT_OPEN, troubleOf(Set.of("a")));
    assertEquals(3, asked.get());
    status.set(200);
    now.addAndGet(100);
    call(Set.of("a"));
    assertEquals(Map.of("state", "closed", "opened", 1L), rescorer.snapshot().get("breaker"));
  }

  public void testARequestThatIsRefusedSaysNothingAgainstTheService() {
    status.set(422);
    for (int i = 0; i < 5; i++) {
      assertEquals(Trouble.REFUSED, troubleOf(Set.of("a")));
    }
  }

  public void testOnlyTimeoutsWithAllTheTimeCountAgainstTheService() {
    for (boolean fullTime : new boolean[] {false, false, false, false, true, true, true}) {
      assertEquals("closed", ((Map<?, ?>) rescorer.snapshot().get("breaker")).get("state"));
      rescorer.call(new byte[0], Set.of("a"), fullTime).cancel(true);
    }
    assertEquals("open", ((Map<?, ?>) rescorer.snapshot().get("breaker")).get("state"));
  }

  public void testSoManyAtATime() {
    CompletableFuture<Void> first = new CompletableFuture<>();
    CompletableFuture<Void> second = new CompletableFuture<>();
    rescorer.withPermit(each -> first);
    CompletableFuture<Void> running = rescorer.withPermit(each -> second);
    assertEquals(2, rescorer.snapshot().get("in_flight"));
    CompletableFuture<Void> third = rescorer.withPermit(each -> new CompletableFuture<>());
    assertEquals(Trouble.TOO_MANY, troubleOf(third));
    second.completeExceptionally(new IllegalStateException());
    assertTrue(running.isCompletedExceptionally());
    assertEquals(1, rescorer.snapshot().get("in_flight"));
    expectThrows(
        IllegalStateException.class,
        () ->
            rescorer.<Void>withPermit(
                each -> {
                  throw new IllegalStateException();
                }));
    assertEquals(1, rescorer.snapshot().get("in_flight"));
  }

  public void testWithoutAnEndpoint() {
    Rescorer none = new Rescorer(null, new CircuitBreaker(1, 1, now::get), 1, statistics);
    assertEquals(
        Trouble.NOT_CONFIGURED, troubleOf(none.withPermit(each -> new CompletableFuture<>())));
  }

  public void testNobodyListens() {
    server.stop(0);
    assertEquals(Trouble.CONNECTION, troubleOf(Set.of("a")));
    assertEquals(1L, statistics.snapshot().get("retries"));
  }

  private RescoreAnswer call(Set<String> ids) {
    return rescorer.call("{}".getBytes(StandardCharsets.UTF_8), ids, true).join();
  }

  private Trouble troubleOf(Set<String> ids) {
    return troubleOf(rescorer.call("{}".getBytes(StandardCharsets.UTF_8), ids, true));
  }

  private static Trouble troubleOf(CompletableFuture<?> future) {
    return Failures.of(expectThrows(CompletionException.class, future::join)).trouble();
  }

  private static URI endpoint(int port) {
    return URI.create("http://127.0.0.1:" + port + "/");
  }
}
