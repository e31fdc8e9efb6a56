package org.kitpick.opensearch.agents;

import java.util.List;
import org.kitpick.opensearch.KitpickPlugin;
import org.opensearch.ml.common.spi.MLCommonsExtension;
import org.opensearch.ml.common.spi.tools.Tool;

/**
 * The tools of this plugin for agents of ml-commons, which finds this class by its name in {@code
 * META-INF/services}. On a node without ml-commons nobody loads it.
 */
public final class AgentTools implements MLCommonsExtension {

  private final KitpickPlugin plugin;

  /** Called by the node, before the plugin has what it needs to search. */
  public AgentTools(KitpickPlugin plugin) {
    this.plugin = plugin;
  }

  @Override
  public List<Tool.Factory<? extends Tool>> getToolFactories() {
    return List.of(new KitpickSearchTool.Factory(plugin::search));
  }
}
