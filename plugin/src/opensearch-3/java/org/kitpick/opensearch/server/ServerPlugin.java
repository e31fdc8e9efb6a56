package org.kitpick.opensearch.server;

import java.nio.file.Path;
import java.util.Collection;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.cluster.metadata.IndexNameExpressionResolver;
import org.opensearch.cluster.service.ClusterService;
import org.opensearch.core.action.ActionListener;
import org.opensearch.core.common.io.stream.NamedWriteableRegistry;
import org.opensearch.core.xcontent.NamedXContentRegistry;
import org.opensearch.env.Environment;
import org.opensearch.env.NodeEnvironment;
import org.opensearch.plugins.Plugin;
import org.opensearch.repositories.RepositoriesService;
import org.opensearch.script.ScriptService;
import org.opensearch.threadpool.ThreadPool;
import org.opensearch.transport.client.Client;
import org.opensearch.watcher.ResourceWatcherService;

/** A plugin of OpenSearch 3, without the types that differ between major versions. */
public abstract class ServerPlugin extends Plugin {

  @Override
  public final Collection<Object> createComponents(
      Client client,
      ClusterService clusterService,
      ThreadPool threadPool,
      ResourceWatcherService resourceWatcherService,
      ScriptService scriptService,
      NamedXContentRegistry xContentRegistry,
      Environment environment,
      NodeEnvironment nodeEnvironment,
      NamedWriteableRegistry namedWriteableRegistry,
      IndexNameExpressionResolver indexNameExpressionResolver,
      Supplier<RepositoriesService> repositoriesServiceSupplier) {
    return components(
        client::search, clusterService, threadPool, xContentRegistry, environment.configDir());
  }

  /**
   * What the node starts and keeps.
   *
   * @param search runs searches as whoever the thread context says
   * @param config the folder of the node's configuration
   */
  protected abstract Collection<Object> components(
      BiConsumer<SearchRequest, ActionListener<SearchResponse>> search,
      ClusterService clusterService,
      ThreadPool threadPool,
      NamedXContentRegistry registry,
      Path config);
}
