package org.kitpick.opensearch.http;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongPredicate;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;
import org.kitpick.opensearch.guard.FailureReason;
import org.kitpick.opensearch.guard.Failures;
import org.kitpick.opensearch.guard.RescoreFailure;
import org.kitpick.opensearch.server.Server;
import org.opensearch.ExceptionsHelper;
import org.opensearch.common.xcontent.XContentHelper;
import org.opensearch.core.common.bytes.BytesArray;
import org.opensearch.core.xcontent.MediaTypeRegistry;

/**
 * Posts a body to the one endpoint of this node's settings. Follows no redirect and uses no proxy,
 * so nothing but that endpoint is ever asked.
 */
public final class HttpRescorer implements AutoCloseable {

  /** Where candidates are ranked. */
  public static final String RESCORE = "/v1/rescore";

  /** Where a whole search is led. */
  public static final String SEARCH = "/v1/search";

  /** What a compressed body begins with, and JSON never. */
  private static final byte[] GZIP = {0x1f, (byte) 0x8b};

  private static final int MAX_MESSAGE = 300;
  private static final long MAX_PAUSE_SECONDS = 10;

  private final String base;
  private final Supplier<String> key;
  private final long maxAnswerBytes;
  private final HttpClient http;
  private volatile long searchMillis;

  /**
   * The key is asked for at each call: it may change while the node runs.
   *
   * @param tls what connections trust and show; null for what the JDK trusts
   */
  public HttpRescorer(
      URI base, Supplier<String> key, long maxAnswerBytes, Executor executor, SSLContext tls) {
    this.base = base.toString().replaceAll("/+$", "");
    this.key = key;
    this.maxAnswerBytes = maxAnswerBytes;
    HttpClient.Builder client =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .followRedirects(HttpClient.Redirect.NEVER)
            .proxy(HttpClient.Builder.NO_PROXY)
            .executor(executor);
    if (tls != null) {
      client.sslContext(tls);
    }
    this.http = Server.privileged(client::build);
  }

  /**
   * Posts the body to a path of the service's. Cancelling the future aborts the exchange.
   *
   * <p>A connection that breaks before the first byte of an answer is tried once more: usually it
   * was a pooled one that the service had just closed, and rescoring changes nothing, so doing it
   * twice is safe. A busy service is not asked again: it has enough to do.
   *
   * @param room takes so many bytes of an answer more of the heap, if there are
   * @return the body of a 200; otherwise fails with {@link RescoreFailure}
   */
  public CompletableFuture<byte[]> post(
      String path, byte[] body, LongPredicate room, Runnable onRetry) {
    CompletableFuture<byte[]> result = new CompletableFuture<>();
    orFail(result, () -> send(request(path, body), result, room, onRetry));
    return result;
  }

  private HttpRequest request(String path, byte[] body) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(base + path))
            .header("Content-Type", "application/json")
            .header("Accept", "application/json")
            .POST(HttpRequest.BodyPublishers.ofByteArray(body));
    if (body.length > 1 && body[0] == GZIP[0] && body[1] == GZIP[1]) {
      request.header("Content-Encoding", "gzip");
    }
    String secret = key.get();
    if (!secret.isEmpty()) {
      request.header("Authorization", "Bearer " + secret);
    }
    return request.build();
  }

  private void send(
      HttpRequest request, CompletableFuture<byte[]> result, LongPredicate room, Runnable onRetry) {
    AtomicBoolean answered = new AtomicBoolean();
    CompletableFuture<HttpResponse<byte[]>> exchange =
        Server.privileged(
            () ->
                http.sendAsync(
                    request, BoundedBody.upTo(maxAnswerBytes, room, () -> answered.set(true))));
    result.whenComplete((bytes, failure) -> exchange.cancel(true));
    exchange.whenComplete(
        (response, failure) ->
            orFail(
                result,
                () -> {
                  if (failure == null) {
                    settle(response, result);
                  } else if (onRetry != null && isBrokenConnection(failure) && !answered.get()) {
                    onRetry.run();
                    send(request, result, room, null);
                  } else {
                    result.completeExceptionally(named(failure));
                  }
                }));
  }

  /** What is thrown inside a future's callback is lost: the result would stay open. */
  private static void orFail(CompletableFuture<byte[]> result, Runnable work) {
    try {
      work.run();
    } catch (RuntimeException e) {
      result.completeExceptionally(named(e));
    }
  }

  private void settle(HttpResponse<byte[]> response, CompletableFuture<byte[]> result) {
    int status = response.statusCode();
    long measured = number(response, "X-Search-Ms");
    searchMillis = measured > 0 ? measured : searchMillis;
    if (status == 200) {
      result.complete(response.body());
    } else {
      long retryAfter = number(response, "Retry-After");
      FailureReason reason = reasonOf(status, retryAfter > 0);
      String said = reason == FailureReason.REFUSED ? messageIn(response.body()) : "";
      // After 429 others may fit; after 503 the service is away, and is not asked for so long.
      long pause = status == 503 ? Math.min(retryAfter, MAX_PAUSE_SECONDS) : 0;
      result.completeExceptionally(
          new RescoreFailure(reason, "the service answered HTTP " + status + said, pause));
    }
  }

  /** Who made the mistake, a profile's name for example, is told what the service says of it. */
  private static String messageIn(byte[] body) {
    try {
      Map<String, Object> json =
          XContentHelper.convertToMap(new BytesArray(body), false, MediaTypeRegistry.JSON).v2();
      return json.get("error") instanceof Map<?, ?> error
              && error.get("message") instanceof String message
          ? ": " + message.substring(0, Math.min(message.length(), MAX_MESSAGE))
          : "";
    } catch (RuntimeException e) { // parsers throw what they like
      return "";
    }
  }

  /** What a search takes where the service runs, as it last said; 0 where it never did. */
  public long searchMillis() {
    return searchMillis;
  }

  /** What a header says; 0 where there is none, or one that is no number. */
  private static long number(HttpResponse<?> response, String header) {
    String value = response.headers().firstValue(header).orElse("").strip();
    return value.matches("\\d{1,9}") ? Long.parseLong(value) : 0;
  }

  private static FailureReason reasonOf(int status, boolean comesBack) {
    return switch (status) {
      case 401, 403 -> FailureReason.UNAUTHORIZED;
      case 429 -> FailureReason.BUSY;
      case 503 -> comesBack ? FailureReason.BUSY : FailureReason.SERVICE_ERROR;
      case 504 -> FailureReason.TIMEOUT;
      case 400, 404, 413, 415, 422 -> FailureReason.REFUSED;
      default -> FailureReason.SERVICE_ERROR;
    };
  }

  private static boolean isBrokenConnection(Throwable failure) {
    return named(failure).reason() == FailureReason.CONNECTION;
  }

  private static RescoreFailure named(Throwable failure) {
    Throwable ours = ExceptionsHelper.unwrap(failure, RescoreFailure.class); // of the body's reader
    Throwable broken = ours == null ? ExceptionsHelper.unwrap(failure, IOException.class) : null;
    return broken == null
        ? Failures.of(ours == null ? failure : ours)
        : new RescoreFailure(FailureReason.CONNECTION, broken.getClass().getSimpleName());
  }

  @Override
  public void close() {
    Server.end(http);
  }
}
