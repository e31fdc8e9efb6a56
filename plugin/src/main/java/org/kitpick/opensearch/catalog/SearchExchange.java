package org.kitpick.opensearch.catalog;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.IntPredicate;
import java.util.function.LongSupplier;
import org.kitpick.opensearch.guard.FailureReason;
import org.kitpick.opensearch.guard.Failures;
import org.kitpick.opensearch.guard.RescoreFailure;
import org.kitpick.opensearch.guard.Rescorer;
import org.kitpick.opensearch.http.HttpRescorer;
import org.kitpick.opensearch.rescore.TimedExchange;
import org.kitpick.opensearch.wire.FoundDocuments;
import org.kitpick.opensearch.wire.RescoreAnswer;
import org.kitpick.opensearch.wire.SearchAnswer;
import org.kitpick.opensearch.wire.SearchCall;
import org.kitpick.opensearch.wire.SharedFields;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.core.action.ActionListener;

/**
 * The conversation with the service about one search of a catalog: the service says which searches
 * it needs, the node runs them as the user and brings what they found, until there is a ranking.
 */
final class SearchExchange extends TimedExchange<RescoreAnswer> {

  /**
   * As many as the service takes. It searches, looks at words that may be misspelt or abbreviated,
   * searches again, and fetches what is named or voted for; equal scores make each search longer.
   */
  private static final int MAX_ROUNDS = 20;

  private final SearchCall call;
  private final LongSupplier leftMillis;
  private final boolean fullTime;
  private final Function<Map<?, ?>, SearchRequest> written;
  private final FoundDocuments documents = new FoundDocuments();

  /** Read after the run; searches that are still under way then may write. */
  private final Set<String> missing = ConcurrentHashMap.newKeySet();

  private volatile int protocol = 1;

  /** Set after the first round, and read after it: what was found can be read by another thread. */
  private volatile boolean read;

  /**
   * A conversation that has not begun.
   *
   * @param fullTime whether that is all the time that this node gives
   * @param written makes a search of a body that the service wrote
   */
  SearchExchange(
      SearchCall call,
      LongSupplier leftMillis,
      boolean fullTime,
      Function<Map<?, ?>, SearchRequest> written,
      BiConsumer<SearchRequest, ActionListener<SearchResponse>> search) {
    super(search);
    this.call = call;
    this.leftMillis = leftMillis;
    this.fullTime = fullTime;
    this.written = written;
  }

  /** Completes at the deadline at the latest, on any thread. */
  CompletableFuture<RescoreAnswer> run(Rescorer rescorer) {
    return within(leftMillis.getAsLong(), () -> ask(rescorer));
  }

  /**
   * The ids of the first stage, fused; empty where it was not read. Of use once the run is over.
   */
  List<String> firstStage() {
    return read ? documents.fused() : List.of();
  }

  /** What the ranking was made without. */
  List<String> missing() {
    return List.copyOf(missing);
  }

  private void ask(Rescorer rescorer) {
    ask(rescorer, Set.of(), 0);
  }

  /**
   * Sends hashes of documents, and in full those that the service said it misses. Another copy of
   * it, or the same a moment later, may miss others: then it gets all of them.
   */
  private void ask(Rescorer rescorer, Set<Integer> missing, int repeated) {
    int spoken = protocol;
    IntPredicate whole = number -> repeated > 1 || missing.contains(number);
    byte[] body = call.toJson(documents, spoken, whole, serviceMillis(leftMillis.getAsLong()));
    Set<String> known = documents.ids();
    step(
        rescorer.call(
            HttpRescorer.SEARCH,
            body,
            Math.max(body.length, documents.bytes()),
            bytes -> SearchAnswer.parse(bytes, known),
            fullTime && documents.rounds() == 0),
        answer -> proceed(rescorer, answer, repeated),
        failure -> {
          // A copy of the service may be older than the one that was asked before.
          if (spoken > 1 && Failures.of(failure).reason() == FailureReason.REFUSED) {
            protocol = 1;
            ask(rescorer);
          } else {
            result.completeExceptionally(failure);
          }
        });
  }

  private void proceed(Rescorer rescorer, SearchAnswer answer, int repeated) {
    protocol = answer.protocol();
    if (answer.ranking() != null) {
      result.complete(answer.ranking());
    } else if (!answer.missing().isEmpty()) {
      if (repeated > 1) {
        throw new RescoreFailure(
            FailureReason.INVALID_ANSWER, "the service asks for documents that it was sent");
      }
      ask(rescorer, answer.missing(), repeated + 1);
    } else if (documents.rounds() >= MAX_ROUNDS) {
      throw new RescoreFailure(
          FailureReason.INVALID_ANSWER, "the service asks for more than " + MAX_ROUNDS + " rounds");
    } else {
      SharedFields shared = new SharedFields(answer.searches());
      step(
          all(shared.searches()).thenCompose(answers -> withDocuments(shared, answers)),
          answers -> {
            documents.add(answers);
            if (documents.lost()) {
              missing.add("documents changed while they were read");
            }
            read = true;
            ask(rescorer);
          },
          result::completeExceptionally);
    }
  }

  /** The answers, once their documents have been read. */
  private CompletableFuture<List<SearchResponse>> withDocuments(
      SharedFields shared, List<SearchResponse> answers) {
    Set<String> fields = shared.fields();
    Set<String> unread = fields.isEmpty() ? Set.of() : documents.unread(answers, fields);
    if (unread.isEmpty()) {
      return CompletableFuture.completedFuture(answers);
    }
    return all(shared.reading(unread))
        .thenApply(
            sources -> {
              sources.forEach(each -> documents.read(each, fields));
              return answers;
            });
  }

  /**
   * Searches side by side, with the answers in the same order. No multi-search: a user may search
   * without being allowed to do that.
   */
  private CompletableFuture<List<SearchResponse>> all(List<Map<?, ?>> bodies) {
    CompletableFuture<List<SearchResponse>> all =
        CompletableFuture.completedFuture(new ArrayList<>());
    for (SearchRequest wanted : bodies.stream().map(written).toList()) {
      all = all.thenCombine(found(wanted), this::joined);
    }
    return all;
  }

  private List<SearchResponse> joined(List<SearchResponse> answers, SearchResponse answer) {
    if (answer.getFailedShards() > 0 || answer.isTimedOut()) {
      missing.add("not all shards answered in time");
    }
    answers.add(answer);
    return answers;
  }
}
