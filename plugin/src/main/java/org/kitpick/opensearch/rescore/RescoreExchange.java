package org.kitpick.opensearch.rescore;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import org.kitpick.opensearch.guard.Failures;
import org.kitpick.opensearch.guard.Rescorer;
import org.kitpick.opensearch.wire.Need;
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
final class RescoreExchange extends TimedExchange<Ranking> {

  /**
   * One search to be rescored.
   *
   * @param firstCall the call before anything was fetched
   * @param maxFetched how many, all rounds together
   * @param left milliseconds until its deadline
   * @param fullTime whether that is all the time that pipeline and node give
   */
  record Job(
      RescoreCall firstCall,
      Documents documents,
      NeedSearch need,
      int rounds,
      int maxFetched,
      LongSupplier left,
      boolean fullTime) {}

  private final Job job;
  private volatile Ranking best;

  /** {@code search} runs a search in the context of the user's. */
  RescoreExchange(Job job, BiConsumer<SearchRequest, ActionListener<SearchResponse>> search) {
    super(search);
    this.job = job;
  }

  /** Completes at the deadline at the latest, on any thread. */
  CompletableFuture<Ranking> run(Rescorer rescorer) {
    return within(job.left().getAsLong(), () -> ask(rescorer, job.firstCall(), job.documents(), 0))
        .handle(this::bestOrFailure);
  }

  private void ask(Rescorer rescorer, RescoreCall call, Documents documents, int rounds) {
    boolean fullTime = job.fullTime() && rounds == 0;
    byte[] body = call.toJson(serviceMillis(job.left().getAsLong()));
    step(
        rescorer.call(body, documents.ids(), fullTime),
        given -> {
          double before = best == null ? 0 : best.serviceMillis();
          double soFar = before + given.totalMillis();
          best = new Ranking(given, documents, rounds, soFar, null);
          proceed(rescorer, call, rounds);
        },
        result::completeExceptionally);
  }

  private void proceed(Rescorer rescorer, RescoreCall call, int rounds) {
    Ranking ranking = best;
    Need need = ranking.answer().need();
    String obstacle = need.isEmpty() ? null : job.need().obstacle();
    if (need.isEmpty() || job.rounds() == 0 || obstacle != null) {
      result.complete(ranking.withUnanswered(obstacle));
    } else if (rounds >= job.rounds()) {
      result.complete(ranking.withUnanswered(rounds + " rounds are over"));
    } else if (room(ranking) == 0) {
      result.complete(ranking.withUnanswered("max_fetched is " + job.maxFetched()));
    } else {
      step(
          fetch(need),
          found -> askAgain(rescorer, call, need, found, rounds),
          result::completeExceptionally);
    }
  }

  private void askAgain(Rescorer rescorer, RescoreCall call, Need need, Found found, int rounds) {
    Ranking ranking = best;
    Documents larger = ranking.documents().with(found.hits(), room(ranking));
    if (larger.fetched().size() == ranking.documents().fetched().size()) {
      result.complete(ranking);
      return;
    }
    Set<String> complete = new HashSet<>(call.completeTools());
    if (!found.truncated() && larger.hold(found.hits())) {
      complete.addAll(need.tools());
    }
    ask(rescorer, call.with(larger.fetched(), complete), larger, rounds + 1);
  }

  private int room(Ranking ranking) {
    return job.maxFetched() - ranking.documents().fetched().size();
  }

  private record Found(List<SearchHit> hits, boolean truncated) {}

  /** Documents that are there already may be among them, so the room says nothing of how many. */
  private CompletableFuture<Found> fetch(Need need) {
    CompletableFuture<Found> all = CompletableFuture.completedFuture(new Found(List.of(), false));
    boolean ofTools = !need.tools().isEmpty(); // the first search
    for (SearchRequest request :
        job.need().requests(need, job.maxFetched(), job.left().getAsLong())) {
      int whole = ofTools ? request.source().size() : Integer.MAX_VALUE;
      all = all.thenCombine(found(request), (found, more) -> joined(found, more, whole));
      ofTools = false;
    }
    return all;
  }

  /** Nearest neighbours are as many as were asked for: that says nothing of the tools. */
  private static Found joined(Found found, SearchResponse more, int whole) {
    SearchHit[] hits = more.getHits().getHits();
    List<SearchHit> together = new ArrayList<>(found.hits());
    together.addAll(Arrays.asList(hits));
    boolean partial =
        more.isTimedOut() || more.getFailedShards() > 0 || more.getClusters().getSkipped() > 0;
    return new Found(together, found.truncated() || partial || hits.length == whole);
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
