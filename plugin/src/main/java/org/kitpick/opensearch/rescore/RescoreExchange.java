package org.kitpick.opensearch.rescore;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.kitpick.opensearch.guard.Failures;
import org.kitpick.opensearch.guard.Rescorer;
import org.kitpick.opensearch.wire.Need;
import org.kitpick.opensearch.wire.RescoreAnswer;
import org.kitpick.opensearch.wire.RescoreCall;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.core.action.ActionListener;
import org.opensearch.search.SearchHit;

/**
 * The conversation with the service about one search: a call, and while it needs documents and
 * there is time, a search for them and another call. The best list so far is kept: what goes wrong
 * later can't take it away.
 */
final class RescoreExchange {

  private final Job job;
  private final BiConsumer<SearchRequest, ActionListener<SearchResponse>> search;
  private final CompletableFuture<Ranking> result = new CompletableFuture<>();

  private volatile Ranking best;
  private volatile CompletableFuture<?> running;

  /** {@code search} runs a search in the context of the user's. */
  RescoreExchange(Job job, BiConsumer<SearchRequest, ActionListener<SearchResponse>> search) {
    this.job = job;
    this.search = search;
  }

  /** Completes at the deadline at the latest, on any thread. */
  CompletableFuture<Ranking> run(Rescorer rescorer) {
    // The timer first: what it starts may take long already.
    CompletableFuture<Ranking> limited =
        result.orTimeout(Math.max(1, job.leftMillis()), TimeUnit.MILLISECONDS);
    ask(rescorer, job.firstCall(), job.documents(), 0);
    return limited.handle(
        (ranking, failure) -> {
          abortRunning(); // with its effect on the breaker and the memory, before the answer
          return bestOrFailure(ranking, failure);
        });
  }

  private void ask(Rescorer rescorer, RescoreCall call, Documents documents, int rounds) {
    boolean fullTime = job.fullTime() && rounds == 0;
    CompletableFuture<RescoreAnswer> answer =
        started(rescorer.call(call.toJson(serviceMillis()), documents.ids(), fullTime));
    answer
        .thenAccept(
            given -> {
              double before = best == null ? 0 : best.serviceMillis();
              double soFar = before + given.totalMillis();
              best = new Ranking(given, documents, rounds, soFar, null);
              proceed(rescorer, call, rounds);
            })
        .whenComplete((done, failure) -> failIfAny(failure));
  }

  /** Less than is left: what the service can do in time must still get here. */
  private long serviceMillis() {
    long left = job.leftMillis();
    return left - Math.max(left / 10, 5);
  }

  private void proceed(Rescorer rescorer, RescoreCall call, int rounds) {
    Ranking ranking = best;
    Need need = ranking.answer().need();
    String obstacle = need.isEmpty() ? null : job.need().obstacle();
    if (need.isEmpty() || job.rounds() == 0 || obstacle != null) {
      result.complete(ranking.withUnanswered(obstacle));
    } else if (rounds >= job.rounds()) {
      result.complete(ranking.withUnanswered(rounds + " rounds are over"));
    } else {
      fetch(need)
          .thenAccept(found -> askAgain(rescorer, call, need, found, rounds))
          .whenComplete((done, failure) -> failIfAny(failure));
    }
  }

  private void askAgain(Rescorer rescorer, RescoreCall call, Need need, Found found, int rounds) {
    Ranking ranking = best;
    Documents larger = ranking.documents().with(found.hits());
    if (larger.fetched().size() == ranking.documents().fetched().size()) {
      result.complete(ranking);
      return;
    }
    Set<String> complete = new HashSet<>(call.completeTools());
    if (!found.truncated()) {
      complete.addAll(need.tools());
    }
    ask(rescorer, call.with(larger.fetched(), complete), larger, rounds + 1);
  }

  private record Found(List<SearchHit> hits, boolean truncated) {}

  private CompletableFuture<Found> fetch(Need need) {
    CompletableFuture<Found> all = CompletableFuture.completedFuture(new Found(List.of(), false));
    for (SearchRequest request : job.need().requests(need, job.leftMillis())) {
      CompletableFuture<SearchResponse> response = new CompletableFuture<>();
      search.accept(
          request, ActionListener.wrap(response::complete, response::completeExceptionally));
      all = all.thenCombine(response, (found, more) -> joined(found, more, request));
    }
    return started(all);
  }

  private static Found joined(Found found, SearchResponse more, SearchRequest request) {
    SearchHit[] hits = more.getHits().getHits();
    List<SearchHit> together = new ArrayList<>(found.hits());
    together.addAll(Arrays.asList(hits));
    boolean partial = more.isTimedOut() || more.getFailedShards() > 0;
    return new Found(
        together, found.truncated() || partial || hits.length == request.source().size());
  }

  private <T> CompletableFuture<T> started(CompletableFuture<T> work) {
    running = work;
    if (result.isDone()) { // the deadline passed in between, and aborted what ran before
      work.cancel(true);
    }
    return work;
  }

  private void abortRunning() {
    CompletableFuture<?> work = running;
    if (work != null) {
      work.cancel(true);
    }
  }

  private void failIfAny(Throwable failure) {
    if (failure != null) {
      result.completeExceptionally(failure);
    }
  }

  private Ranking bestOrFailure(Ranking ranking, Throwable failure) {
    if (failure == null) {
      return ranking;
    }
    Ranking soFar = best;
    if (soFar == null) {
      throw Failures.of(failure);
    }
    return soFar.withUnanswered(
        "what was needed could not be used: " + Failures.of(failure).reason().code());
  }
}
