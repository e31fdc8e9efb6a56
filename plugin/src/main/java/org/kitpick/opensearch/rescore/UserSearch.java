package org.kitpick.opensearch.rescore;

import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;
import org.kitpick.opensearch.guard.Rescorer;
import org.kitpick.opensearch.stats.Statistics.Count;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.common.util.concurrent.ThreadContext.StoredContext;
import org.opensearch.core.action.ActionListener;

/**
 * One search that the service may rank. Its work is done on threads of the plugin's; what becomes
 * of it is told in the context of the user's.
 *
 * @param <R> what the service makes of it
 * @param <T> what it is answered with
 */
public abstract class UserSearch<R, T> {

  /** What all searches of the node share. */
  protected final NodeRuntime node;

  private final Supplier<StoredContext> userContext;
  private final long startNanos = System.nanoTime();

  /** To be made in the context of the user's. */
  protected UserSearch(NodeRuntime node) {
    this.node = node;
    this.userContext = node.threadContext().newRestorableContext(true);
  }

  /** Answers the listener once. The caller's thread does next to nothing. */
  public final void start(ActionListener<T> listener) {
    node.statistics().count(Count.SEARCHES);
    node.executor()
        .execute(
            () -> {
              try {
                rank(listener);
              } catch (Exception e) {
                settle(listener, null, e);
              }
            });
  }

  /** Milliseconds since the search came. */
  public final double millis() {
    return (System.nanoTime() - startNanos) / 1e6;
  }

  /**
   * Answers the listener, or asks the service; what it throws counts as a failure of the search.
   */
  protected abstract void rank(ActionListener<T> listener);

  /** The answer of a search that the service ranked. */
  protected abstract T ranked(R ranking);

  /** The answer of one that it did not; throws where the user wants none. */
  protected abstract T unranked(Throwable failure) throws Exception;

  /** Asks the service, if there is room for it, and answers the listener when that is over. */
  protected final void ask(
      Function<Rescorer, CompletableFuture<R>> exchange, ActionListener<T> listener) {
    permitted(exchange)
        .whenCompleteAsync(
            (ranking, failure) -> settle(listener, ranking, failure), node.executor());
  }

  /** The exchange, begun where there is room for it now. */
  protected CompletableFuture<R> permitted(Function<Rescorer, CompletableFuture<R>> exchange) {
    return node.rescorer().withPermit(exchange);
  }

  private void settle(ActionListener<T> listener, R ranking, Throwable failure) {
    T answer;
    try {
      answer = failure == null ? ranked(ranking) : unranked(failure);
    } catch (Exception e) {
      asUser(() -> listener.onFailure(e));
      return;
    }
    asUser(() -> listener.onResponse(answer));
  }

  /** Runs a search as the user, whose document- and field-level security holds for it, too. */
  protected final void search(SearchRequest wanted, ActionListener<SearchResponse> found) {
    asUser(() -> node.search().accept(wanted, found));
  }

  /** Threads of the pool and of the HTTP client serve everybody: what runs on them must not. */
  protected final void asUser(Runnable work) {
    StoredContext others = userContext.get();
    try {
      work.run();
    } finally {
      others.close();
    }
  }
}
