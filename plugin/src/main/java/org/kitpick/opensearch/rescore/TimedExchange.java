package org.kitpick.opensearch.rescore;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.kitpick.opensearch.guard.FirstStageFailure;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.core.action.ActionListener;

/**
 * A conversation with the service about one search, and the searches that it asks for, until a
 * deadline: what runs then is aborted.
 *
 * @param <R> what it results in
 */
public abstract class TimedExchange<R> {

  /** Completed by whoever knows how it ends. */
  protected final CompletableFuture<R> result = new CompletableFuture<>();

  private final BiConsumer<SearchRequest, ActionListener<SearchResponse>> search;
  private volatile CompletableFuture<?> running;

  /** {@code search} runs a search in the context of the user's. */
  protected TimedExchange(BiConsumer<SearchRequest, ActionListener<SearchResponse>> search) {
    this.search = search;
  }

  /** Begins it; completes at the deadline at the latest, on any thread. */
  protected final CompletableFuture<R> within(long leftMillis, Runnable first) {
    // The timer first: what it starts may take long already.
    CompletableFuture<R> limited = result.orTimeout(Math.max(1, leftMillis), TimeUnit.MILLISECONDS);
    first.run();
    // Aborted with its effect on the breaker and the memory, before the answer.
    return limited.whenComplete((done, failure) -> abortRunning());
  }

  /** Goes on with what work brings. What is thrown inside a future's callback would be lost. */
  protected final <T> void step(
      CompletableFuture<T> work, Consumer<T> next, Consumer<Throwable> failed) {
    running = work;
    if (result.isDone()) { // the deadline passed in between, and aborted what ran before
      work.cancel(true);
    }
    work.thenAccept(next)
        .whenComplete(
            (done, failure) -> {
              if (failure != null) {
                failed.accept(failure);
              }
            });
  }

  /** What a search finds. */
  protected final CompletableFuture<SearchResponse> found(SearchRequest request) {
    CompletableFuture<SearchResponse> response = new CompletableFuture<>();
    search.accept(
        request,
        ActionListener.wrap(
            response::complete, e -> response.completeExceptionally(new FirstStageFailure(e))));
    return response;
  }

  /** Less than is left: what the service can do in time must still get here. */
  protected static long serviceMillis(long leftMillis) {
    return leftMillis - Math.max(leftMillis / 10, 5);
  }

  private void abortRunning() {
    CompletableFuture<?> work = running;
    if (work != null) {
      work.cancel(true);
    }
  }
}
