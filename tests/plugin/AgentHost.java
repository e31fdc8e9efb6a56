package org.opensearch.ml.plugin;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.opensearch.cluster.metadata.IndexNameExpressionResolver;
import org.opensearch.cluster.node.DiscoveryNodes;
import org.opensearch.common.settings.ClusterSettings;
import org.opensearch.common.settings.IndexScopedSettings;
import org.opensearch.common.settings.Settings;
import org.opensearch.common.settings.SettingsFilter;
import org.opensearch.core.rest.RestStatus;
import org.opensearch.ml.common.spi.MLCommonsExtension;
import org.opensearch.ml.common.spi.tools.Tool;
import org.opensearch.ml.common.spi.tools.ToolAnnotation;
import org.opensearch.plugins.ActionPlugin;
import org.opensearch.plugins.ExtensiblePlugin;
import org.opensearch.plugins.Plugin;
import org.opensearch.rest.BaseRestHandler;
import org.opensearch.rest.BytesRestResponse;
import org.opensearch.rest.RestController;
import org.opensearch.rest.RestHandler;
import org.opensearch.rest.RestRequest;
import org.opensearch.rest.action.RestActionListener;
import org.opensearch.transport.client.node.NodeClient;

/**
 * Stands in for ml-commons, which is not on Maven Central as a plugin: it takes tools of other plugins by the
 * interface that is, and runs one with what a request holds, {@code POST /_plugins/_ml/tools/_execute/TYPE}.
 */
public final class AgentHost extends Plugin implements ActionPlugin, ExtensiblePlugin {
  private final Map<String, Tool.Factory<? extends Tool>> factories = new HashMap<>();

  @Override
  public void loadExtensions(ExtensionLoader loader) {
    for (MLCommonsExtension extension : loader.loadExtensions(MLCommonsExtension.class)) {
      for (Tool.Factory<? extends Tool> factory : extension.getToolFactories()) {
        Class<?> tool = factory.getClass().getDeclaringClass();
        factories.put(tool.getAnnotation(ToolAnnotation.class).value(), factory);
      }
    }
  }

  @Override
  public List<RestHandler> getRestHandlers(
      Settings settings, RestController controller, ClusterSettings cluster, IndexScopedSettings scoped,
      SettingsFilter filter, IndexNameExpressionResolver names, Supplier<DiscoveryNodes> nodes) {
    return List.of(new Execute());
  }

  private final class Execute extends BaseRestHandler {
    @Override
    public String getName() {
      return "execute_tool";
    }

    @Override
    public List<Route> routes() {
      return List.of(new Route(RestRequest.Method.POST, "/_plugins/_ml/tools/_execute/{type}"));
    }

    @Override
    protected RestChannelConsumer prepareRequest(RestRequest request, NodeClient client) throws IOException {
      Tool.Factory<? extends Tool> factory = factories.get(request.param("type"));
      Map<String, String> parameters = new HashMap<>();
      request.contentParser().map().forEach((key, value) -> parameters.put(key, value.toString()));
      Tool tool = factory.create(new HashMap<>(parameters));
      return channel -> tool.run(parameters, new RestActionListener<String>(channel) {
        @Override
        protected void processResponse(String said) {
          channel.sendResponse(new BytesRestResponse(RestStatus.OK, "application/json", said));
        }
      });
    }
  }
}
