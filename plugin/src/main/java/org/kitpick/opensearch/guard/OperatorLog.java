package org.kitpick.opensearch.guard;

import java.util.EnumMap;
import java.util.Map;
import java.util.function.LongSupplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Says in the node's log what an operator can mend: once a minute for each reason, and never with
 * what a search or the service said, which may quote the request.
 */
final class OperatorLog {

  private static final Logger logger = LogManager.getLogger("org.kitpick.opensearch");
  private static final long PAUSE_NANOS = 60_000_000_000L;

  private static final Map<FailureReason, String> CURES =
      new EnumMap<>(
          Map.of(
              FailureReason.NOT_CONFIGURED,
              "kitpick.endpoint is not set on this node: its searches stay in first-stage order",
              FailureReason.UNAUTHORIZED,
              "the rescorer does not know this node's key: put it into the keystore as kitpick.key,"
                  + " then POST _nodes/reload_secure_settings",
              FailureReason.REFUSED,
              "the rescorer refused a request, for an unknown profile for example:"
                  + " ext.kitpick.message of the search says why",
              FailureReason.TOO_LARGE,
              "the rescorer's answer is larger than kitpick.max_answer_size",
              FailureReason.INVALID_ANSWER,
              "the rescorer's answer makes no sense: is kitpick.endpoint the address of a rescorer,"
                  + " of a version that this plugin understands?",
              FailureReason.TOO_MANY,
              "more searches wait for the rescorer than kitpick.max_concurrent or"
                  + " breaker.kitpick.limit allow: the others stay in first-stage order"));

  private final LongSupplier nanoClock;
  private final Map<FailureReason, Long> last = new EnumMap<>(FailureReason.class);

  OperatorLog(LongSupplier nanoClock) {
    this.nanoClock = nanoClock;
  }

  /** A failure; what no operator can mend by a setting is not written. */
  void failed(FailureReason reason) {
    if (CURES.containsKey(reason) && isDue(reason)) {
      logger.warn("{}: {}", reason.code(), CURES.get(reason));
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

  private synchronized boolean isDue(FailureReason reason) {
    long now = nanoClock.getAsLong();
    Long before = last.get(reason);
    if (before != null && now - before < PAUSE_NANOS) {
      return false;
    }
    last.put(reason, now);
    return true;
  }
}
