package org.toolrank.opensearch.rescore;

import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import org.opensearch.common.util.concurrent.ThreadContext;
import org.opensearch.transport.client.Client;
import org.toolrank.opensearch.guard.Rescorer;
import org.toolrank.opensearch.stats.Statistics;

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
 */
public record NodeRuntime(
    Rescorer rescorer,
    Statistics statistics,
    Client client,
    ThreadContext threadContext,
    Executor executor,
    BooleanSupplier enabled,
    long deadlineMillis) {}
