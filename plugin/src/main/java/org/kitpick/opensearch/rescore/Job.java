package org.kitpick.opensearch.rescore;

import java.util.function.LongSupplier;
import org.kitpick.opensearch.wire.RescoreCall;

/**
 * One search to be rescored.
 *
 * @param firstCall the call before anything was fetched
 * @param documents the window
 * @param need how further documents are searched for
 * @param rounds how often
 * @param left milliseconds until its deadline
 * @param fullTime whether that is all the time that pipeline and node give
 */
record Job(
    RescoreCall firstCall,
    Documents documents,
    NeedSearch need,
    int rounds,
    LongSupplier left,
    boolean fullTime) {

  long leftMillis() {
    return left.getAsLong();
  }
}
