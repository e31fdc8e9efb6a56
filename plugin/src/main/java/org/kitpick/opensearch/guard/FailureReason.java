package org.kitpick.opensearch.guard;

import java.util.Locale;
import org.opensearch.core.rest.RestStatus;

/**
 * Why a search came back in its first-stage order. The names are part of the interface: ext and
 * statistics.
 */
public enum FailureReason {
  /** The deadline passed. */
  TIMEOUT(RestStatus.GATEWAY_TIMEOUT),
  /** No connection, or it broke. */
  CONNECTION(RestStatus.BAD_GATEWAY),
  /** The service has no time for this one: 429, or 503 with a time to come back. */
  BUSY(RestStatus.SERVICE_UNAVAILABLE),
  /** The service does not know the key. */
  UNAUTHORIZED(RestStatus.BAD_GATEWAY),
  /** The service refused the request: an unknown profile, a broken document. */
  REFUSED(RestStatus.BAD_REQUEST),
  /** The service failed: any other 5xx. */
  SERVICE_ERROR(RestStatus.BAD_GATEWAY),
  /** The answer was larger than this node reads. */
  TOO_LARGE(RestStatus.BAD_GATEWAY),
  /** The answer made no sense. */
  INVALID_ANSWER(RestStatus.BAD_GATEWAY),
  /** The service is busy, and this call was spared the way: see {@link LoadShare}. */
  SHED(RestStatus.SERVICE_UNAVAILABLE),
  /** This node has as many rescorings under way as it may. */
  TOO_MANY(RestStatus.TOO_MANY_REQUESTS),
  /** The service failed too often just now, and is left alone for a moment. */
  CIRCUIT_OPEN(RestStatus.SERVICE_UNAVAILABLE),
  /** Switched off by the cluster setting. */
  SWITCHED_OFF(RestStatus.SERVICE_UNAVAILABLE),
  /** No endpoint in the node's settings. */
  NOT_CONFIGURED(RestStatus.SERVICE_UNAVAILABLE),
  /** This cluster could not run a search that the service asked for. */
  FIRST_STAGE(RestStatus.SERVICE_UNAVAILABLE),
  /** A defect of the plugin. */
  INTERNAL(RestStatus.INTERNAL_SERVER_ERROR);

  private final RestStatus status;

  FailureReason(RestStatus status) {
    this.status = status;
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

  /** The name as ext and statistics have it. */
  public String code() {
    return name().toLowerCase(Locale.ROOT);
  }
}
