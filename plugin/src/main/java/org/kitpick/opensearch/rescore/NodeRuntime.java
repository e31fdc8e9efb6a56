package org.kitpick.opensearch.rescore;

import java.util.concurrent.Executor;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import org.kitpick.opensearch.guard.FailureReason;
import org.kitpick.opensearch.guard.OperatorLog;
import org.kitpick.opensearch.guard.RescoreFailure;
import org.kitpick.opensearch.guard.Rescorer;
import org.kitpick.opensearch.stats.Statistics;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.cluster.service.ClusterService;
import org.opensearch.common.util.concurrent.ThreadContext;
import org.opensearch.core.action.ActionListener;
import org.opensearch.core.xcontent.NamedXContentRegistry;

/**
 * What every processor of a node shares.
 *
 * @param search runs searches on this node as whoever the thread context says
 * @param executor threads of the plugin's own: nothing here runs on a transport thread
 * @param deadlineMillis the longest that a search may be held up
 * @param maxWindow the most hits of a search that are rescored
 * @param models behind the vectors of this cluster's indexes
 * @param cluster aliases and their filters, and the name of this node
 * @param registry knows the queries of all plugins
 */
public record NodeRuntime(
    Rescorer rescorer,
    Statistics statistics,
    BiConsumer<SearchRequest, ActionListener<SearchResponse>> search,
    ThreadContext threadContext,
    Executor executor,
    BooleanSupplier enabled,
    LongSupplier deadlineMillis,
    IntSupplier maxWindow,
    VectorModels models,
    OperatorLog log,
    ClusterService cluster,
    NamedXContentRegistry registry) {

  /**
   * Why nothing need be prepared for a search, because nobody would rank it; null where somebody
   * could. To be asked once a search: a busy service is worth preparing for now and then.
   */
  public RescoreFailure away() {
    RescoreFailure failure = shut();
    return failure != null || rescorer.isWorthPreparing() ? failure : Rescorer.shed();
  }

  /** Why no call can go out for now, whatever it is about; null where one could. */
  public RescoreFailure shut() {
    return enabled.getAsBoolean()
        ? rescorer.shut()
        : new RescoreFailure(FailureReason.SWITCHED_OFF, "kitpick.enabled is false");
  }

  /** Counts and logs a search that stays unranked. */
  public void unranked(RescoreFailure failure) {
    statistics.original(failure.reason().code());
    log.failed(failure);
  }
}
