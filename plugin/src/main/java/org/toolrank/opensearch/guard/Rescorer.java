package org.toolrank.opensearch.guard;

import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.function.Function;
import org.toolrank.opensearch.http.HttpRescorer;
import org.toolrank.opensearch.stats.Statistics;
import org.toolrank.opensearch.stats.Statistics.Count;
import org.toolrank.opensearch.wire.InvalidAnswer;
import org.toolrank.opensearch.wire.RescoreAnswer;

/**
 * The service as this node may use it: so many searches at a time, none while the circuit is open,
 * and every answer checked. Never blocks.
 */
public final class Rescorer {

  private final HttpRescorer http;
  private final CircuitBreaker breaker;
  private final Semaphore permits;
  private final int maxConcurrent;
  private final Statistics statistics;

  /** {@code http} is null where no endpoint is configured. */
  public Rescorer(
      HttpRescorer http, CircuitBreaker breaker, int maxConcurrent, Statistics statistics) {
    this.http = http;
    this.breaker = breaker;
    this.permits = new Semaphore(maxConcurrent);
    this.maxConcurrent = maxConcurrent;
    this.statistics = statistics;
  }

  /**
   * Runs one search's work, however many calls it makes, if there is room for it. The room is free
   * again when the work is done, failed or cancelled.
   */
  public <T> CompletableFuture<T> withPermit(Function<Rescorer, CompletableFuture<T>> work) {
    if (http == null) {
      return failed(Trouble.NOT_CONFIGURED, "toolrank.endpoint is not set on this node");
    }
    if (!permits.tryAcquire()) {
      return failed(Trouble.TOO_MANY, maxConcurrent + " searches are being rescored on this node");
    }
    CompletableFuture<T> done;
    try {
      done = work.apply(this);
    } catch (RuntimeException e) {
      permits.release();
      throw e;
    }
    return done.whenComplete((result, failure) -> permits.release());
  }

  /**
   * One call about documents with these ids. Cancelling the future aborts it.
   *
   * @param fullTime whether the call has all the time that this node gives. Where it has less, a
   *     timeout says nothing about the service: otherwise one user with a tiny deadline could open
   *     the circuit for all.
   */
  public CompletableFuture<RescoreAnswer> call(byte[] body, Set<String> ids, boolean fullTime) {
    if (!breaker.tryPass()) {
      return failed(Trouble.CIRCUIT_OPEN, "the service failed too often just now");
    }
    statistics.count(Count.CALLS);
    statistics.add(Count.REQUEST_BYTES, body.length);
    CompletableFuture<byte[]> exchange = http.post(body, () -> statistics.count(Count.RETRIES));
    CompletableFuture<RescoreAnswer> answer = exchange.thenApply(bytes -> checked(bytes, ids));
    answer.whenComplete(
        (result, failure) -> {
          report(failure, fullTime);
          exchange.cancel(true);
        });
    return answer;
  }

  /** For the statistics. */
  public Map<String, Object> snapshot() {
    Map<String, Object> all = new TreeMap<>(statistics.snapshot());
    all.put("configured", http != null);
    all.put("in_flight", maxConcurrent - permits.availablePermits());
    all.put(
        "breaker",
        Map.of(
            "state", breaker.state().name().toLowerCase(Locale.ROOT),
            "opened", breaker.timesOpened()));
    return all;
  }

  private RescoreAnswer checked(byte[] bytes, Set<String> ids) {
    statistics.add(Count.ANSWER_BYTES, bytes.length);
    try {
      return RescoreAnswer.parse(bytes, ids);
    } catch (InvalidAnswer e) {
      throw new RescoreFailure(Trouble.INVALID_ANSWER, e.getMessage());
    }
  }

  private void report(Throwable failure, boolean fullTime) {
    if (failure == null) {
      breaker.succeeded();
      return;
    }
    Trouble trouble = Failures.troubleOf(failure);
    if (trouble == Trouble.TIMEOUT && !fullTime) {
      breaker.abandoned();
    } else if (trouble.isOfTheService()) {
      breaker.failed();
    } else if (trouble == Trouble.REFUSED) {
      breaker.succeeded(); // it refused this one request, so it is there and well
    } else {
      breaker.abandoned();
    }
  }

  private static <T> CompletableFuture<T> failed(Trouble trouble, String message) {
    return CompletableFuture.failedFuture(new RescoreFailure(trouble, message));
  }
}
