package org.kitpick.opensearch.guard;

import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntSupplier;
import org.kitpick.opensearch.http.HttpRescorer;
import org.kitpick.opensearch.stats.Statistics;
import org.kitpick.opensearch.wire.RescoreAnswer;
import org.opensearch.common.settings.ClusterSettings;
import org.opensearch.common.settings.Settings;
import org.opensearch.indices.breaker.BreakerSettings;
import org.opensearch.indices.breaker.HierarchyCircuitBreakerService;
import org.opensearch.test.OpenSearchTestCase;

/** The guards around a real HTTP client and server. */
@com.carrotsearch.randomizedtesting.annotations.ThreadLeakFilters(filters = HttpClientThreads.class)
public class RescorerTests extends OpenSearchTestCase {

  private static final int HEAP_LIMIT = 4_000;

  private final ExecutorService executor = Executors.newCachedThreadPool();
  private final AtomicInteger status = new AtomicInteger(200);
  private final AtomicReference<String> retryAfter = new AtomicReference<>("");
  private final AtomicReference<String> searchMillis = new AtomicReference<>("");
  private final AtomicInteger asked = new AtomicInteger();
  private volatile CountDownLatch mayAnswer = new CountDownLatch(0);
  private final AtomicLong now = new AtomicLong();
  private final AtomicInteger most = new AtomicInteger(2);
  private final org.opensearch.core.common.breaker.CircuitBreaker memory =
      new HierarchyCircuitBreakerService(
              Settings.EMPTY,
              List.of(new BreakerSettings(HeapShare.NAME, HEAP_LIMIT, 1.0)),
              new ClusterSettings(Settings.EMPTY, ClusterSettings.BUILT_IN_CLUSTER_SETTINGS))
          .getBreaker(HeapShare.NAME);
  private final HeapShare heap = new HeapShare(() -> memory);
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
          await(mayAnswer);
          byte[] body =
              "{\"results\": [{\"id\": \"a\", \"score\": 1.0}]}".getBytes(StandardCharsets.UTF_8);
          if (!retryAfter.get().isEmpty()) {
            exchange.getResponseHeaders().set("Retry-After", retryAfter.get());
          }
          exchange.getResponseHeaders().set("X-Search-Ms", searchMillis.get());
          exchange.sendResponseHeaders(status.get(), body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
    http =
        new HttpRescorer(endpoint(server.getAddress().getPort()), () -> "", 1000, executor, null);
    CircuitBreaker breaker = new CircuitBreaker(() -> 3, () -> 100, now::get);
    rescorer = rescorer(http, breaker, most::get);
  }

  @Override
  public void tearDown() throws Exception {
    mayAnswer.countDown();
    server.stop(0);
    http.close();
    executor.shutdownNow();
    super.tearDown();
  }

  public void testAnAnswerIsChecked() {
    assertEquals("a", call(Set.of("a")).results().get(0).id());
    assertEquals(FailureReason.INVALID_ANSWER, reasonOf(Set.of("b")));
  }

  public void testADeadlineThatNobodySetFollowsTheService() {
    assertEquals("before its first answer", 1_000, rescorer.deadlineMillis(0));
    for (var each : Map.of("90", 1_000L, "600", 4_800L, "999999999", 5_000L).entrySet()) {
      searchMillis.set(each.getKey());
      call(Set.of("a"));
      assertEquals(each.getValue().longValue(), rescorer.deadlineMillis(0));
      assertEquals("what an operator sets holds", 50, rescorer.deadlineMillis(50));
    }
  }

  public void testAnOpenCircuitSparesTheService() {
    status.set(500);
    for (int i = 0; i < 3; i++) {
      assertEquals(FailureReason.SERVICE_ERROR, reasonOf(Set.of("a")));
    }
    assertEquals(FailureReason.CIRCUIT_OPEN, reasonOf(Set.of("a")));
    assertEquals(3, asked.get());
    status.set(200);
    now.addAndGet(100);
    call(Set.of("a"));
    assertEquals(Map.of("state", "closed", "opened", 1L), rescorer.snapshot().get("breaker"));
  }

  public void testARequestThatIsRefusedSaysNothingAgainstTheService() {
    status.set(422);
    for (int i = 0; i < 5; i++) {
      assertEquals(FailureReason.REFUSED, reasonOf(Set.of("a")));
    }
  }

  public void testABusyServiceIsWellAndIsAskedNowAndThen() {
    status.set(429);
    int shed = 0;
    for (int i = 0; i < 40; i++) {
      now.addAndGet(5_000_000);
      FailureReason reason = reasonOf(search());
      assertTrue(reason == FailureReason.BUSY || reason == FailureReason.SHED);
      shed += reason == FailureReason.SHED ? 1 : 0;
    }
    assertEquals("closed", ((Map<?, ?>) rescorer.snapshot().get("breaker")).get("state"));
    assertEquals(40 - shed, asked.get());
    assertTrue("of forty " + shed + " were spared the way", shed > 10);
    status.set(200);
    now.addAndGet(1_000_000_000L);
    assertEquals("a", search().join().results().get(0).id());
  }

  public void testASearchThatWasBegunIsFinishedHoweverBusyTheServiceIs() {
    CompletableFuture<Void> other = new CompletableFuture<>();
    rescorer.withPermit(each -> other);
    status.set(429);
    assertEquals(FailureReason.BUSY, reasonOf(search()));
    status.set(200);
    assertEquals("it holds the other one", FailureReason.SHED, reasonOf(search()));
    assertEquals("a", call(Set.of("a")).results().get(0).id());
    other.complete(null);
    search().join();
  }

  public void testAServiceThatNamesATimeIsLeftAloneForSoLong() {
    status.set(503);
    retryAfter.set("2");
    assertEquals(FailureReason.BUSY, reasonOf(search()));
    status.set(200);
    assertEquals(FailureReason.SHED, reasonOf(search()));
    assertEquals(1, asked.get());
    now.addAndGet(2_000_000_000L);
    search().join();
  }

  public void testOnlyTimeoutsWithAllTheTimeCountAgainstTheService() {
    mayAnswer = new CountDownLatch(1);
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
    assertEquals(FailureReason.TOO_MANY, reasonOf(third));
    second.completeExceptionally(new IllegalStateException());
    assertTrue(running.isCompletedExceptionally());
    assertEquals(1, rescorer.snapshot().get("in_flight"));
    CompletableFuture<Void> thrown =
        rescorer.withPermit(
            each -> {
              throw new IllegalStateException();
            });
    assertEquals(FailureReason.INTERNAL, reasonOf(thrown));
    assertEquals(1, rescorer.snapshot().get("in_flight"));
  }

  public void testTheLimitMayChangeWhileSearchesRun() {
    rescorer.withPermit(each -> new CompletableFuture<>());
    most.set(1);
    CompletableFuture<Void> second = rescorer.withPermit(each -> new CompletableFuture<>());
    assertEquals(FailureReason.TOO_MANY, reasonOf(second));
    most.set(2);
    assertFalse(rescorer.withPermit(each -> new CompletableFuture<>()).isDone());
  }

  public void testSearchesUnderWayHoldOnlySoMuchOfTheHeap() {
    byte[] tooLarge = new byte[HEAP_LIMIT / 4 + 1];
    assertEquals(FailureReason.TOO_MANY, reasonOf(rescorer.call(tooLarge, Set.of("a"), true)));
    assertEquals(0, asked.get());
    byte[] withoutRoomForAnAnswer = new byte[HEAP_LIMIT / 4];
    assertEquals(
        FailureReason.TOO_MANY, reasonOf(rescorer.call(withoutRoomForAnAnswer, Set.of("a"), true)));
    assertEquals("it was sent", 1, asked.get());
    byte[] withRoom = new byte[HEAP_LIMIT / 8];
    rescorer.call(withRoom, Set.of("a"), true).join();
    rescorer.call(withRoom, Set.of("a"), true).join();
    assertEquals("what was taken is given back", 0, memory.getUsed());
    assertEquals("closed", ((Map<?, ?>) rescorer.snapshot().get("breaker")).get("state"));
  }

  public void testWithoutAnEndpoint() {
    CircuitBreaker breaker = new CircuitBreaker(() -> 1, () -> 1, now::get);
    Rescorer none = rescorer(null, breaker, () -> 1);
    assertEquals(1_000, none.deadlineMillis(0));
    assertEquals(
        FailureReason.NOT_CONFIGURED, reasonOf(none.withPermit(each -> new CompletableFuture<>())));
  }

  public void testNobodyListens() {
    server.stop(0);
    assertEquals(FailureReason.CONNECTION, reasonOf(Set.of("a")));
    assertEquals(1L, statistics.snapshot().get("retries"));
  }

  public void testWhoWasTurnedAwayIsBegunAnewWhileThereIsTime() {
    status.set(429);
    CompletableFuture<RescoreAnswer> patient =
        rescorer.waitingForPermit(RescorerTests::oneCall, 30_000, true);
    while (asked.get() < 3) { // and from then on the service is left alone in between
      Thread.onSpinWait();
    }
    CompletableFuture<RescoreAnswer> inVain =
        rescorer.waitingForPermit(RescorerTests::oneCall, 1, true);
    now.addAndGet(1_000_000L);
    assertTrue(Set.of(FailureReason.BUSY, FailureReason.SHED).contains(reasonOf(inVain)));
    assertFalse(patient.isDone());
    status.set(200);
    now.addAndGet(1_000_000_000L);
    assertEquals("a", patient.join().results().get(0).id());
    assertEquals(0, rescorer.snapshot().get("in_flight"));
  }

  private Rescorer rescorer(HttpRescorer service, CircuitBreaker breaker, IntSupplier atATime) {
    LoadShare share = new LoadShare(now::get);
    return new Rescorer(
        service,
        breaker,
        share,
        new WaitingLine(share, executor, now::get),
        heap,
        atATime,
        statistics,
        new OperatorLog(now::get));
  }

  /** A search of one call. */
  private CompletableFuture<RescoreAnswer> search() {
    return rescorer.withPermit(RescorerTests::oneCall);
  }

  private static CompletableFuture<RescoreAnswer> oneCall(Rescorer rescorer) {
    return rescorer.call("{}".getBytes(StandardCharsets.UTF_8), Set.of("a"), true);
  }

  private RescoreAnswer call(Set<String> ids) {
    return rescorer.call("{}".getBytes(StandardCharsets.UTF_8), ids, true).join();
  }

  private FailureReason reasonOf(Set<String> ids) {
    return reasonOf(rescorer.call("{}".getBytes(StandardCharsets.UTF_8), ids, true));
  }

  private static FailureReason reasonOf(CompletableFuture<?> future) {
    return Failures.of(expectThrows(CompletionException.class, future::join)).reason();
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static URI endpoint(int port) {
    return URI.create("http://127.0.0.1:" + port + "/");
  }
}
