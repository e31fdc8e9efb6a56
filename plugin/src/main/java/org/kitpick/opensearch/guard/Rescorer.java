package org.kitpick.opensearch.guard;

import static java.util.concurrent.CompletableFuture.failedFuture;

import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import org.kitpick.opensearch.http.HttpRescorer;
import org.kitpick.opensearch.stats.Statistics;
import org.kitpick.opensearch.stats.Statistics.Count;
import org.kitpick.opensearch.wire.InvalidAnswer;
import org.kitpick.opensearch.wire.RescoreAnswer;

/**
 * The service as this node may use it: so many searches at a time, none while the circuit is open,
 * and every answer checked. Never blocks.
 */
public final class Rescorer {

  /** A search may wait for as many others at the service, within these bounds. */
  private static final long SEARCHES = 8;

  private static final long LEAST_MILLIS = 1_000;
  private static final long MOST_MILLIS = 5_000;

  private final HttpRescorer http;
  private final CircuitBreaker breaker;
  private final LoadShare share;
  private final WaitingLine line;
  private final HeapShare heap;
  private final IntSupplier maxConcurrent;
  private final Statistics statistics;
  private final OperatorLog log;
  private final AtomicInteger underWay = new AtomicInteger();

  /**
   * {@code http} is null where no endpoint is configured; the limit is read for each search,
   * because operators change it.
   */
  public Rescorer(
      HttpRescorer http,
      CircuitBreaker breaker,
      LoadShare share,
      WaitingLine line,
      HeapShare heap,
      IntSupplier maxConcurrent,
      Statistics statistics,
      OperatorLog log) {
    this.http = http;
    this.breaker = breaker;
    this.share = share;
    this.line = line;
    this.heap = heap;
    this.maxConcurrent = maxConcurrent;
    this.statistics = statistics;
    this.log = log;
  }

  /**
   * Runs one search's work, however many calls it makes, if there is room for it, here and with the
   * service. The room is free again when the work is done, failed or cancelled.
   */
  public <T> CompletableFuture<T> withPermit(Function<Rescorer, CompletableFuture<T>> work) {
    return counted(
        () ->
            share.tryPass()
                ? begun(work).whenComplete((result, failure) -> leave(failure))
                : failedFuture(shed()));
  }

  /**
   * The same once there is room with the service, if that is so in time. What the service turned
   * away is begun anew.
   *
   * @param leftMillis until the search must be answered
   * @param usual whether it is like most: only what these take is compared
   */
  public <T> CompletableFuture<T> waitingForPermit(
      Function<Rescorer, CompletableFuture<T>> work, long leftMillis, boolean usual) {
    Patient<T> search = new Patient<>(work, line.deadlineNanos(leftMillis), usual);
    return counted(() -> admitted(search, shed()));
  }

  private record Patient<T>(
      Function<Rescorer, CompletableFuture<T>> work, long deadlineNanos, boolean usual) {}

  private <T> CompletableFuture<T> counted(Supplier<CompletableFuture<T>> search) {
    if (http == null) {
      return failedFuture(notConfigured());
    }
    int most = maxConcurrent.getAsInt();
    if (underWay.incrementAndGet() > most) {
      underWay.decrementAndGet();
      String message = most + " searches are being rescored on this node";
      return failedFuture(new RescoreFailure(FailureReason.TOO_MANY, message));
    }
    return search.get().whenComplete((result, failure) -> underWay.decrementAndGet());
  }

  /** Fails with {@code otherwise} where no room was found in time. */
  private <T> CompletableFuture<T> admitted(Patient<T> search, RescoreFailure otherwise) {
    return line.enter(search.deadlineNanos)
        .thenCompose(passes -> passes ? tried(search) : failedFuture(otherwise));
  }

  private <T> CompletableFuture<T> tried(Patient<T> search) {
    long startNanos = line.nowNanos();
    boolean alone = share.isOne();
    CompletableFuture<T> done = begun(search.work);
    return done.handle(
            (result, failure) -> {
              if (search.usual) {
                line.ended(line.nowNanos() - startNanos, alone, failure);
              }
              leave(failure);
              return isBusy(failure) && line.hasTime(search.deadlineNanos)
                  ? admitted(search, Failures.of(failure))
                  : done;
            })
        .thenCompose(Function.identity());
  }

  private <T> CompletableFuture<T> begun(Function<Rescorer, CompletableFuture<T>> work) {
    try {
      return work.apply(this);
    } catch (RuntimeException e) {
      return failedFuture(e);
    }
  }

  /** How long a search may be held up: what the operator says, or with 0 what the service needs. */
  public long deadlineMillis(long said) {
    long one = http == null ? 0 : Math.max(http.searchMillis(), line.aloneMillis());
    long needed = SEARCHES * one;
    return said > 0 ? said : Math.max(LEAST_MILLIS, Math.min(MOST_MILLIS, needed));
  }

  private void leave(Throwable failure) {
    if (failure == null) {
      share.answered();
    } else if (isBusy(failure)) {
      share.busy();
    } else {
      share.abandoned();
    }
    line.look();
  }

  private static boolean isBusy(Throwable failure) {
    return failure != null && Failures.of(failure).reason() == FailureReason.BUSY;
  }

  /** One call to rank documents with these ids, like the one below. */
  public CompletableFuture<RescoreAnswer> call(byte[] body, Set<String> ids, boolean fullTime) {
    return call(
        HttpRescorer.RESCORE,
        body,
        body.length,
        bytes -> RescoreAnswer.parse(bytes, ids),
        fullTime);
  }

  /**
   * One call. Cancelling the future aborts it.
   *
   * @param held bytes of what it was made from, which stays until the answer
   * @param read makes an answer of its body, or throws {@link InvalidAnswer}
   * @param fullTime whether the call has all the time that this node gives. Where it has less, a
   *     timeout says nothing about the service: otherwise one user with a tiny deadline could open
   *     the circuit for all.
   */
  public <T> CompletableFuture<T> call(
      String path, byte[] body, long held, Function<byte[], T> read, boolean fullTime) {
    if (!breaker.tryPass()) {
      return failedFuture(circuitOpen());
    }
    HeapShare.Held room = heap.held();
    if (!room.tryTake(held)) {
      breaker.abandoned();
      return failedFuture(RescoreFailure.noRoom());
    }
    statistics.count(Count.CALLS);
    statistics.add(Count.REQUEST_BYTES, body.length);
    CompletableFuture<byte[]> exchange =
        http.post(path, body, room::tryTake, () -> statistics.count(Count.RETRIES));
    CompletableFuture<T> answer = new CompletableFuture<>();
    exchange
        .thenApply(bytes -> checked(bytes, read))
        .whenComplete(
            (result, failure) -> {
              room.giveAll();
              report(failure, fullTime);
              end(answer, result, failure);
            });
    answer.whenComplete((result, failure) -> exchange.cancel(true));
    return answer;
  }

  /** Last of all: whoever reads the answer sees its effect on the breaker and the memory, too. */
  private static <T> void end(CompletableFuture<T> answer, T result, Throwable failure) {
    if (failure == null) {
      answer.complete(result);
    } else {
      answer.completeExceptionally(failure);
    }
  }

  /** Why no call can go out for now, whatever it is about; null where one could. */
  public RescoreFailure shut() {
    if (http == null) {
      return notConfigured();
    }
    return breaker.isShut() ? circuitOpen() : null;
  }

  private static RescoreFailure notConfigured() {
    return new RescoreFailure(
        FailureReason.NOT_CONFIGURED, "kitpick.endpoint is not set on this node");
  }

  private static RescoreFailure circuitOpen() {
    return new RescoreFailure(FailureReason.CIRCUIT_OPEN, "the service failed too often just now");
  }

  /** Whether to prepare a search. Who gets false must not send it: see {@link LoadShare}. */
  public boolean isWorthPreparing() {
    return share.isWorthPreparing();
  }

  /** What becomes of a search for which nothing was prepared. */
  public static RescoreFailure shed() {
    return new RescoreFailure(
        FailureReason.SHED, "the service is busy, and has as much as it holds");
  }

  /** For the statistics. */
  public Map<String, Object> snapshot() {
    Map<String, Object> all = new TreeMap<>(statistics.snapshot());
    all.put("configured", http != null);
    all.put("in_flight", underWay.get());
    all.put(
        "breaker",
        Map.of(
            "state", breaker.state().name().toLowerCase(Locale.ROOT),
            "opened", breaker.timesOpened()));
    all.put("refusal", share.refusal());
    return all;
  }

  private <T> T checked(byte[] bytes, Function<byte[], T> read) {
    statistics.add(Count.ANSWER_BYTES, bytes.length);
    try {
      return read.apply(bytes);
    } catch (InvalidAnswer e) {
      throw new RescoreFailure(FailureReason.INVALID_ANSWER, e.getMessage());
    }
  }

  private void report(Throwable failure, boolean fullTime) {
    if (failure == null) {
      answered();
      return;
    }
    RescoreFailure named = Failures.of(failure);
    FailureReason reason = named.reason();
    log.failed(named);
    if (reason == FailureReason.BUSY) {
      answered(); // it said so at once, so it is there and well
      if (named.retryAfterSeconds() > 0) {
        share.pause(named.retryAfterSeconds() * 1_000_000_000L);
      }
    } else if (reason == FailureReason.TIMEOUT && !fullTime) {
      breaker.abandoned();
    } else if (reason.isOfTheService()) {
      if (breaker.failed()) {
        log.opened(reason, breaker.pauseMillis());
      }
    } else if (reason == FailureReason.REFUSED) {
      answered(); // it refused this one request, so it is there and well
    } else {
      breaker.abandoned();
    }
  }

  private void answered() {
    if (breaker.succeeded()) {
      log.closed();
    }
  }
}
