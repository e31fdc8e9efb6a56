package org.kitpick.opensearch.http;

import com.carrotsearch.randomizedtesting.annotations.ThreadLeakFilters;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import org.kitpick.opensearch.guard.FailureReason;
import org.kitpick.opensearch.guard.Failures;
import org.kitpick.opensearch.guard.HttpClientThreads;
import org.opensearch.test.OpenSearchTestCase;

/**
 * Certificates against a real server that asks for one. {@code server.p12} and {@code client.p12}
 * in the resources hold a self-signed certificate and its key each, {@code trusted.p12} and {@code
 * clients.p12} the certificate of either; keytool made them, for a hundred years.
 */
@ThreadLeakFilters(filters = HttpClientThreads.class)
public class TlsStoresTests extends OpenSearchTestCase {

  private static final String PASSWORD = "changeit";

  private final ExecutorService executor = Executors.newCachedThreadPool();
  private Path folder;
  private HttpsServer server;

  @Override
  public void setUp() throws Exception {
    super.setUp();
    folder = createTempDir();
    for (String name : List.of("server", "client", "trusted", "clients")) {
      try (InputStream store = getClass().getResourceAsStream("/tls/" + name + ".p12")) {
        Files.copy(store, folder.resolve(name + ".p12"));
      }
    }
    SSLContext own = new TlsStores("clients.p12", PASSWORD, "server.p12", PASSWORD).context(folder);
    server = HttpsServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    server.setHttpsConfigurator(asking(own));
    server.setExecutor(executor);
    server.createContext(
        "/",
        exchange -> {
          exchange.getRequestBody().readAllBytes();
          exchange.sendResponseHeaders(200, 2);
          exchange.getResponseBody().write("{}".getBytes("UTF-8"));
          exchange.close();
        });
    server.start();
  }

  @Override
  public void tearDown() throws Exception {
    server.stop(0);
    executor.shutdownNow();
    super.tearDown();
  }

  public void testAServerThatIsTrustedAndKnowsTheNode() {
    assertEquals("{}", asked(new TlsStores("trusted.p12", PASSWORD, "client.p12", PASSWORD)));
  }

  public void testAServerThatNobodyVouchesFor() {
    assertEquals("connection", asked(TlsStores.NONE));
    assertEquals(
        "connection", asked(new TlsStores("clients.p12", PASSWORD, "client.p12", PASSWORD)));
  }

  public void testAServerThatDoesNotKnowTheNode() {
    assertEquals("connection", asked(new TlsStores("trusted.p12", PASSWORD, "", "")));
    assertEquals(
        "connection", asked(new TlsStores("trusted.p12", PASSWORD, "server.p12", PASSWORD)));
  }

  public void testWhatCannotBeUsedIsNamed() throws Exception {
    Files.writeString(folder.resolve("broken.p12"), "no certificates");
    for (TlsStores stores :
        List.of(
            new TlsStores("nowhere.p12", PASSWORD, "", ""),
            new TlsStores("broken.p12", PASSWORD, "", ""),
            new TlsStores("trusted.p12", "wrong", "", ""))) {
      String said =
          expectThrows(IllegalArgumentException.class, () -> stores.context(folder)).getMessage();
      assertTrue(said, said.startsWith("kitpick.tls.truststore: "));
      assertTrue(said, said.contains(stores.truststore()));
      assertFalse(said, said.contains(PASSWORD));
    }
    TlsStores own = new TlsStores("", "", "client.p12", "wrong");
    String said =
        expectThrows(IllegalArgumentException.class, () -> own.context(folder)).getMessage();
    assertTrue(said, said.contains("kitpick.tls.keystore_password"));
  }

  public void testNoFileIsTheJdksOwnTrust() {
    assertNull(TlsStores.NONE.context(folder));
  }

  /** The answer, or the reason of the failure. */
  private String asked(TlsStores stores) {
    URI base = URI.create("https://localhost:" + server.getAddress().getPort());
    try (HttpRescorer http =
        new HttpRescorer(base, () -> "", 1_000, executor, stores.context(folder))) {
      byte[] answer = http.post(HttpRescorer.RESCORE, new byte[0], bytes -> true, () -> {}).join();
      return new String(answer, java.nio.charset.StandardCharsets.UTF_8);
    } catch (CompletionException e) {
      FailureReason reason = Failures.of(e).reason();
      return reason.code();
    }
  }

  private static HttpsConfigurator asking(SSLContext own) {
    return new HttpsConfigurator(own) {
      @Override
      public void configure(HttpsParameters parameters) {
        SSLParameters asking = own.getDefaultSSLParameters();
        asking.setNeedClientAuth(true);
        parameters.setSSLParameters(asking);
      }
    };
  }
}
