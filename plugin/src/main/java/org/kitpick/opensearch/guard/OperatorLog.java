package org.kitpick.opensearch.guard;

import java.util.EnumMap;
import java.util.Map;
import java.util.function.LongSupplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Says in the node's log why searches stay unranked, and what mends it: once a minute for each
 * reason, and never with what a search or the service said, which may quote the request.
 */
public final class OperatorLog {

  private static final Logger logger = LogManager.getLogger("org.kitpick.opensearch");
  private static final long PAUSE_NANOS = 60_000_000_000L;

  private final LongSupplier nanoClock;
  private final Map<FailureReason, Long> last = new EnumMap<>(FailureReason.class);

  /** The clock is {@code System::nanoTime} outside of tests. */
  public OperatorLog(LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
  }

  /**
   * A failure of a search, or of a call that it could do without. Who returns from here knows that
   * the failure is in the log, whoever wrote it.
   */
  public synchronized void failed(RescoreFailure failure) {
    FailureReason reason = failure.reason();
    if (isDue(reason)) {
      String where = reason == FailureReason.INTERNAL ? " (" + failure.getMessage() + ")" : "";
      logger.warn("{}: {}{}", reason.code(), reason.cure(), where);
    }
  }

  /** The circuit opened, at last for this reason. */
  void opened(FailureReason reason, long pauseMillis) {
    logger.warn(
        "the rescorer failed too often, at last with {}: it is left alone for {} ms,"
            + " and searches stay in first-stage order",
        reason.code(),
        pauseMillis);
  }

  /** And closed again. */
  void closed() {
    logger.info("the rescorer answers again");
  }

  private boolean isDue(FailureReason reason) {
    long now = nanoClock.getAsLong();
    Long before = last.get(reason);
    if (before != null && now - before < PAUSE_NANOS) {
      return false;
    }
    last.put(reason, now);
    return true;
  }
}
