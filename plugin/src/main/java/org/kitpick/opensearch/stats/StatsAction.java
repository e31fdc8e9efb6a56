package org.kitpick.opensearch.stats;

import org.opensearch.action.ActionType;

/**
 * The action by which nodes ask each other; its name is what a role must be allowed to see
 * statistics.
 */
public final class StatsAction extends ActionType<StatsResponse> {

  /** The one instance. */
  public static final StatsAction INSTANCE = new StatsAction();

  /** Under {@code cluster:monitor} with the other statistics. */
  public static final String NAME = "cluster:monitor/kitpick/stats";

  private StatsAction() {
    super(NAME, StatsResponse::new);
  }
}
