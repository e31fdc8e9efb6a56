package org.kitpick.opensearch.rescore;

import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Property;
import org.kitpick.opensearch.guard.CircuitBreaker;
import org.kitpick.opensearch.guard.FailureReason;
import org.kitpick.opensearch.guard.HeapShare;
import org.kitpick.opensearch.guard.HttpClientThreads;
import org.kitpick.opensearch.guard.LoadShare;
import org.kitpick.opensearch.guard.OperatorLog;
import org.kitpick.opensearch.guard.RescoreFailure;
import org.kitpick.opensearch.guard.Rescorer;
import org.kitpick.opensearch.guard.WaitingLine;
import org.kitpick.opensearch.http.HttpRescorer;
import org.kitpick.opensearch.rescore.Options.OnFailure;
import org.kitpick.opensearch.stats.PrometheusText;
import org.kitpick.opensearch.stats.Statistics;
import org.opensearch.cluster.metadata.Metadata;
import org.opensearch.common.logging.Loggers;
import org.opensearch.common.settings.ClusterSettings;
import org.opensearch.common.settings.Settings;
import org.opensearch.common.util.concurrent.ThreadContext;
import org.opensearch.indices.breaker.BreakerSettings;
import org.opensearch.indices.breaker.HierarchyCircuitBreakerService;
import org.opensearch.search.builder.SearchSourceBuilder;
import org.opensearch.search.fetch.subphase.FetchSourceContext;
import org.opensearch.test.OpenSearchTestCase;

/**
 * Whatever keeps the rescorer away, and whatever a search wants to see of its hits: the answer, the
 * statistics, Prometheus and the log say the same, and a search that is to fail fails.
 */
@com.carrotsearch.randomizedtesting.annotations.ThreadLeakFilters(filters = HttpClientThreads.class)
public class OutageTests extends OpenSearchTestCase {

  private static final int MOST_READ = 1_000;
  private static final Map<String, FetchSourceContext> VIEWS =
      Map.of(
          "whole", FetchSourceContext.FETCH_SOURCE,
          "id", new FetchSourceContext(true, new String[] {"id"}, new String[0]),
          "none", FetchSourceContext.DO_NOT_FETCH_SOURCE);

  private final ExecutorService executor = Executors.newCachedThreadPool();
  private final CountDownLatch over = new CountDownLatch(1);
  private final Warnings warnings = new Warnings();
  private long deadlineMillis = 300_000;
  private boolean resting;
  private boolean open;
  private HttpServer server;
  private HttpRescorer http;

  @Override
  public void setUp() throws Exception {
    super.setUp();
    warnings.start();
    Loggers.addAppender(LogManager.getLogger("org.kitpick.opensearch"), warnings);
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(executor);
    server.start();
    http = at(server.getAddress().getPort());
  }

  @Override
  public void tearDown() throws Exception {
    Loggers.removeAppender(LogManager.getLogger("org.kitpick.opensearch"), warnings);
    warnings.stop();
    over.countDown();
    server.stop(0);
    http.close();
    executor.shutdownNow();
    super.tearDown();
  }

  public void testAWellServiceRanksWhateverIsShown() throws Exception {
    answering(200, "{\"results\": [{\"id\": \"b\", \"score\": 1.0}]}");
    for (Map.Entry<String, FetchSourceContext> view : VIEWS.entrySet()) {
      for (OnFailure onFailure : OnFailure.values()) {
        Statistics statistics = new Statistics();
        NodeRuntime node = node(http, 64, true, statistics);
        Map<String, Object> report =
            NodeSearch.report(NodeSearch.search(node, view.getValue(), onFailure, true, 0));
        assertEquals(view.getKey(), "rescored", report.get("status"));
        assertEquals(Map.of(), statistics.snapshot().get("original"));
      }
    }
  }

  public void testTheDeadlinePasses() throws Exception {
    server.createContext("/v1/rescore", exchange -> untilTheEnd());
    deadlineMillis = 100;
    assertTold(FailureReason.TIMEOUT, http, 64, true);
  }

  public void testNobodyListens() throws Exception {
    int port = server.getAddress().getPort();
    server.stop(0);
    HttpRescorer gone = at(port);
    assertTold(FailureReason.CONNECTION, gone, 64, true);
    gone.close();
  }

  public void testTheServiceSaysNo() throws Exception {
    answering(429, "{}");
    assertTold(FailureReason.BUSY, http, 64, true);
    answering(401, "{}");
    assertTold(FailureReason.UNAUTHORIZED, http, 64, true);
    answering(422, "{}");
    assertTold(FailureReason.REFUSED, http, 64, true);
    answering(500, "{}");
    assertTold(FailureReason.SERVICE_ERROR, http, 64, true);
  }

  public void testTheAnswerIsNone() throws Exception {
    answering(200, "no answer");
    assertTold(FailureReason.INVALID_ANSWER, http, 64, true);
    answering(200, "{\"results\": []" + " ".repeat(MOST_READ) + "}");
    assertTold(FailureReason.TOO_LARGE, http, 64, true);
  }

  public void testThisNodeSendsNothing() throws Exception {
    answering(200, "{\"results\": [{\"id\": \"b\", \"score\": 1.0}]}");
    assertTold(FailureReason.TOO_MANY, http, 0, true);
    assertTold(FailureReason.SWITCHED_OFF, http, 64, false);
    assertTold(FailureReason.NOT_CONFIGURED, null, 64, true);
    resting = true;
    assertTold(FailureReason.SHED, http, 64, true);
  }

  public void testTheCircuitIsOpen() throws Exception {
    open = true;
    assertTold(FailureReason.CIRCUIT_OPEN, http, 64, true);
  }

  public void testASearchWithNothingToRankIsNoOutage() throws Exception {
    Statistics statistics = new Statistics();
    NodeRuntime node = node(null, 64, true, statistics);
    SearchSourceBuilder counts =
        NodeSearch.source(FetchSourceContext.FETCH_SOURCE, OnFailure.FAIL, 0).size(0);
    Map<String, Object> report = NodeSearch.report(NodeSearch.search(node, counts, true));
    assertEquals(Map.of("status", "skipped", "reason", "size_zero"), report);
    assertEquals(Map.of(), statistics.snapshot().get("original"));
  }

  /** Every view of the source, with a window and without, and a later page. */
  private void assertTold(FailureReason reason, HttpRescorer service, int most, boolean enabled)
      throws Exception {
    for (Map.Entry<String, FetchSourceContext> view : VIEWS.entrySet()) {
      assertTold(reason, node(service, most, enabled, new Statistics()), view, true, 0);
      assertTold(reason, node(service, most, enabled, new Statistics()), view, true, 1);
      boolean beforeAnyCall = reason == FailureReason.CIRCUIT_OPEN || service == null || !enabled;
      if (beforeAnyCall || view.getKey().equals("whole")) {
        assertTold(reason, node(service, most, enabled, new Statistics()), view, false, 0);
      }
    }
  }

  private void assertTold(
      FailureReason reason,
      NodeRuntime node,
      Map.Entry<String, FetchSourceContext> view,
      boolean window,
      int from)
      throws Exception {
    String where =
        String.format(Locale.ROOT, "%s, _source %s, from %d", reason, view.getKey(), from);
    warnings.said.clear();
    RescoreFailure failure =
        expectThrows(
            RescoreFailure.class,
            () -> NodeSearch.search(node, view.getValue(), OnFailure.FAIL, window, from));
    assertEquals(where, reason, failure.reason());
    assertEquals(where, reason.status(), failure.status());
    assertTrue(
        where + warnings.said,
        warnings.said.stream().anyMatch(line -> line.startsWith(reason.code() + ": ")));
    Map<String, Object> report =
        NodeSearch.report(
            NodeSearch.search(node, view.getValue(), OnFailure.ORIGINAL, window, from));
    assertEquals(where, "original", report.get("status"));
    assertEquals(where, reason.code(), report.get("reason"));
    Map<String, Object> counted = node.statistics().snapshot();
    assertEquals(where, Map.of(reason.code(), 2L), counted.get("original"));
    assertEquals(where, Map.of(), counted.get("skipped"));
    assertEquals(where, 2L, counted.get("searches"));
    String metrics = PrometheusText.of(Map.of("n", counted));
    String line = "kitpick_node_original_total{node=\"n\",reason=\"" + reason.code() + "\"} 2";
    assertTrue(where + metrics, metrics.contains(line));
  }

  private NodeRuntime node(HttpRescorer service, int most, boolean enabled, Statistics statistics) {
    OperatorLog log = new OperatorLog(System::nanoTime);
    CircuitBreaker breaker =
        new CircuitBreaker(() -> 3, () -> TimeUnit.MINUTES.toNanos(1), System::nanoTime);
    for (int i = 0; open && i < 3; i++) {
      breaker.failed();
    }
    LoadShare share = new LoadShare(System::nanoTime);
    if (resting) {
      share.pause(TimeUnit.MINUTES.toNanos(1));
    }
    Rescorer rescorer =
        new Rescorer(
            service,
            breaker,
            share,
            new WaitingLine(share, executor, System::nanoTime),
            heap(),
            () -> most,
            statistics,
            log);
    return new NodeRuntime(
        rescorer,
        statistics,
        null,
        new ThreadContext(Settings.EMPTY),
        executor,
        () -> enabled,
        () -> deadlineMillis,
        () -> 1_000,
        new VectorModels(() -> Metadata.EMPTY_METADATA),
        log,
        null,
        null);
  }

  private static HeapShare heap() {
    var memory =
        new HierarchyCircuitBreakerService(
                Settings.EMPTY,
                List.of(new BreakerSettings(HeapShare.NAME, 1_000_000, 1.0)),
                new ClusterSettings(Settings.EMPTY, ClusterSettings.BUILT_IN_CLUSTER_SETTINGS))
            .getBreaker(HeapShare.NAME);
    return new HeapShare(() -> memory);
  }

  private HttpRescorer at(int port) {
    URI endpoint = URI.create("http://127.0.0.1:" + port);
    return new HttpRescorer(endpoint, () -> "", MOST_READ, executor, null);
  }

  private void answering(int status, String text) {
    try {
      server.removeContext("/v1/rescore");
    } catch (IllegalArgumentException e) {
      // the first one
    }
    byte[] body = text.getBytes(StandardCharsets.UTF_8);
    server.createContext(
        "/v1/rescore",
        exchange -> {
          exchange.getRequestBody().readAllBytes();
          exchange.sendResponseHeaders(status, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
  }

  private void untilTheEnd() {
    try {
      over.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** What the plugin writes into the node's log. */
  private static final class Warnings extends AbstractAppender {
    private final List<String> said = new CopyOnWriteArrayList<>();

    Warnings() {
      super("warnings", null, null, true, Property.EMPTY_ARRAY);
    }

    @Override
    public void append(LogEvent event) {
      if (event.getLevel() == Level.WARN) {
        said.add(event.getMessage().getFormattedMessage());
      }
    }
  }
}
