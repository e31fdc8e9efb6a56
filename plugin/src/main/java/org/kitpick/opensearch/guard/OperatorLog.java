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

  private static final Map<FailureReason, String> CURES =
      new EnumMap<>(
          Map.ofEntries(
              Map.entry(
                  FailureReason.TIMEOUT,
                  "the rescorer did not answer within kitpick.deadline: give it more cores, or searches more"
                      + " time"),
              Map.entry(
                  FailureReason.CONNECTION,
                  "the rescorer cannot be reached at kitpick.endpoint: is it up?"),
              Map.entry(
                  FailureReason.BUSY,
                  "the rescorer has more to do than it holds: give it more cores"),
              Map.entry(
                  FailureReason.SHED,
                  "the rescorer has more to do than it holds: give it more cores"),
              Map.entry(
                  FailureReason.UNAUTHORIZED,
                  "the rescorer does not know this node's key: put it into the keystore as kitpick.key,"
                      + " then POST _nodes/reload_secure_settings"),
              Map.entry(
                  FailureReason.REFUSED,
                  "the rescorer refused a request, for an unknown profile for example:"
                      + " ext.kitpick.message of the search says why"),
              Map.entry(FailureReason.SERVICE_ERROR, "the rescorer failed: its own log says why"),
              Map.entry(
                  FailureReason.TOO_LARGE,
                  "the rescorer's answer is larger than kitpick.max_answer_size"),
              Map.entry(
                  FailureReason.INVALID_ANSWER,
                  "the rescorer's answer makes no sense: is kitpick.endpoint the address of a rescorer,"
                      + " of a version that this plugin understands?"),
              Map.entry(
                  FailureReason.TOO_MANY,
                  "more searches wait for the rescorer than kitpick.max_concurrent or"
                      + " breaker.kitpick.limit allow: the others stay unranked"),
              Map.entry(
                  FailureReason.CIRCUIT_OPEN,
                  "the rescorer failed too often just now, and is left alone for a moment"),
              Map.entry(
                  FailureReason.SWITCHED_OFF,
                  "kitpick.enabled is false: searches stay unranked until it is true"),
              Map.entry(
                  FailureReason.NOT_CONFIGURED,
                  "kitpick.endpoint is not set on this node: its searches stay unranked"),
              Map.entry(
                  FailureReason.FIRST_STAGE,
                  "this cluster could not run a search that the rescorer asked for"),
              Map.entry(FailureReason.INTERNAL, "a defect of the plugin, please report it")));

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
      logger.warn("{}: {}{}", reason.code(), CURES.get(reason), where);
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
