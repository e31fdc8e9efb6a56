package org.kitpick.opensearch.guard;

import java.util.Locale;
import org.opensearch.core.rest.RestStatus;

/**
 * Why a search came back in its first-stage order, with the status of a search that must fail, and
 * what the log tells an operator. The names are part of the interface: ext and statistics.
 */
public enum FailureReason {
  TIMEOUT(
      RestStatus.GATEWAY_TIMEOUT,
      "the rescorer did not answer within kitpick.deadline: give it more cores, or searches more time"),
  /** No connection, or it broke. */
  CONNECTION(
      RestStatus.BAD_GATEWAY, "the rescorer cannot be reached at kitpick.endpoint: is it up?"),
  /** The service has no time for this one: 429, or 503 with a time to come back. */
  BUSY(
      RestStatus.SERVICE_UNAVAILABLE,
      "the rescorer has more to do than it holds: give it more cores"),
  UNAUTHORIZED(
      RestStatus.BAD_GATEWAY,
      "the rescorer does not know this node's key: put it into the keystore as kitpick.key, then POST _nodes/reload_secure_settings"),
  /** The service refused the request: an unknown profile, a broken document. */
  REFUSED(
      RestStatus.BAD_REQUEST,
      "the rescorer refused a request, for an unknown profile for example: ext.kitpick.message of the search says why"),
  /** The service failed: any other 5xx. */
  SERVICE_ERROR(RestStatus.BAD_GATEWAY, "the rescorer failed: its own log says why"),
  TOO_LARGE(RestStatus.BAD_GATEWAY, "the rescorer's answer is larger than kitpick.max_answer_size"),
  INVALID_ANSWER(
      RestStatus.BAD_GATEWAY,
      "the rescorer's answer makes no sense: is kitpick.endpoint the address of a rescorer, of a version that this plugin understands?"),
  /** The service is busy, and this call was spared the way: see {@link LoadShare}. */
  SHED(
      RestStatus.SERVICE_UNAVAILABLE,
      "the rescorer has more to do than it holds: give it more cores"),
  TOO_MANY(
      RestStatus.TOO_MANY_REQUESTS,
      "more searches wait for the rescorer than kitpick.max_concurrent or breaker.kitpick.limit allow: the others stay unranked"),
  CIRCUIT_OPEN(
      RestStatus.SERVICE_UNAVAILABLE,
      "the rescorer failed too often just now, and is left alone for a moment"),
  SWITCHED_OFF(
      RestStatus.SERVICE_UNAVAILABLE,
      "kitpick.enabled is false: searches stay unranked until it is true"),
  NOT_CONFIGURED(
      RestStatus.SERVICE_UNAVAILABLE,
      "kitpick.endpoint is not set on this node: its searches stay unranked"),
  FIRST_STAGE(
      RestStatus.SERVICE_UNAVAILABLE,
      "this cluster could not run a search that the rescorer asked for"),
  INTERNAL(RestStatus.INTERNAL_SERVER_ERROR, "a defect of the plugin, please report it");

  private final RestStatus status;
  private final String cure;

  FailureReason(RestStatus status, String cure) {
    this.status = status;
    this.cure = cure;
  }

  /** What a search answers where it must fail. */
  public RestStatus status() {
    return status;
  }

  /**
   * Whether the service is to blame: only then the circuit breaker counts it. A busy service is
   * well: it does what it can.
   */
  public boolean isOfTheService() {
    return switch (this) {
      case TIMEOUT, CONNECTION, UNAUTHORIZED, SERVICE_ERROR, TOO_LARGE, INVALID_ANSWER -> true;
      default -> false;
    };
  }

  /** What is wrong and what mends it, for who reads the node's log. */
  String cure() {
    return cure;
  }

  /** The name as ext and statistics have it. */
  public String code() {
    return name().toLowerCase(Locale.ROOT);
  }
}
