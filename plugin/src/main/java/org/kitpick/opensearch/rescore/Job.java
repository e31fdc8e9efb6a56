package org.kitpick.opensearch.rescore;

import java.util.concurrent.TimeUnit;
import org.kitpick.opensearch.wire.RescoreCall;

/**
 * One search to be rescored.
 *
 * @param firstCall the call before anything was fetched
 * @param documents the window
 * @param need how further documents are searched for
 * @param rounds how often
 * @param startNanos when the response arrived at the processor
 * @param deadlineMillis how long it may be held up
 * @param fullTime whether that is all the time that pipeline and node give
 */
record Job(
    RescoreCall firstCall,
    Documents documents,
    NeedSearch need,
    int rounds,
    long startNanos,
    long deadlineMillis,
    boolean fullTime) {

  long leftMillis() {
    return deadlineMillis - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos);
  }
}
