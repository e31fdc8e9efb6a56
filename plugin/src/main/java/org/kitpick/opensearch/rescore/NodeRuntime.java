package org.kitpick.opensearch.rescore;

import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import org.kitpick.opensearch.guard.Rescorer;
import org.kitpick.opensearch.server.ServerClient;
import org.kitpick.opensearch.stats.Statistics;
import org.opensearch.common.util.concurrent.ThreadContext;

/**
 * What every processor of a node shares.
 *
 * @param rescorer the guarded service
 * @param statistics of this node
 * @param client of this node: its searches run as whoever the thread context says
 * @param threadContext to restore that
 * @param executor threads of the plugin's own: nothing here runs on a transport thread
 * @param enabled the cluster's switch
 * @param deadlineMillis the longest that a search may be held up
 * @param maxWindow the most hits of a search that are rescored
 * @param models behind the vectors of this cluster's indexes
 */
public record NodeRuntime(
    Rescorer rescorer,
    Statistics statistics,
    ServerClient client,
    ThreadContext threadContext,
    Executor executor,
    BooleanSupplier enabled,
    LongSupplier deadlineMillis,
    IntSupplier maxWindow,
    VectorModels models) {}
