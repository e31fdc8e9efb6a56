package org.toolrank.opensearch;

import java.net.URI;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.opensearch.action.ActionRequest;
import org.opensearch.cluster.metadata.IndexNameExpressionResolver;
import org.opensearch.cluster.node.DiscoveryNodes;
import org.opensearch.cluster.service.ClusterService;
import org.opensearch.common.settings.ClusterSettings;
import org.opensearch.common.settings.IndexScopedSettings;
import org.opensearch.common.settings.Setting;
import org.opensearch.common.settings.Settings;
import org.opensearch.common.settings.SettingsFilter;
import org.opensearch.common.unit.TimeValue;
import org.opensearch.core.action.ActionResponse;
import org.opensearch.core.common.io.stream.NamedWriteableRegistry;
import org.opensearch.core.xcontent.NamedXContentRegistry;
import org.opensearch.env.Environment;
import org.opensearch.env.NodeEnvironment;
import org.opensearch.plugins.ActionPlugin;
import org.opensearch.plugins.Plugin;
import org.opensearch.plugins.ReloadablePlugin;
import org.opensearch.plugins.SearchPipelinePlugin;
import org.opensearch.plugins.SearchPlugin;
import org.opensearch.repositories.RepositoriesService;
import org.opensearch.rest.RestController;
import org.opensearch.rest.RestHandler;
import org.opensearch.script.ScriptService;
import org.opensearch.search.pipeline.Processor;
import org.opensearch.search.pipeline.SearchRequestProcessor;
import org.opensearch.search.pipeline.SearchResponseProcessor;
import org.opensearch.threadpool.ExecutorBuilder;
import org.opensearch.threadpool.ScalingExecutorBuilder;
import org.opensearch.threadpool.ThreadPool;
import org.opensearch.transport.client.Client;
import org.opensearch.watcher.ResourceWatcherService;
import org.toolrank.opensearch.guard.CircuitBreaker;
import org.toolrank.opensearch.guard.Rescorer;
import org.toolrank.opensearch.http.HttpRescorer;
import org.toolrank.opensearch.rescore.NodeRuntime;
import org.toolrank.opensearch.rescore.ReportExt;
import org.toolrank.opensearch.rescore.RequestExt;
import org.toolrank.opensearch.rescore.RescoreProcessor;
import org.toolrank.opensearch.rescore.WindowProcessor;
import org.toolrank.opensearch.stats.RestStatsAction;
import org.toolrank.opensearch.stats.Statistics;
import org.toolrank.opensearch.stats.StatsAction;
import org.toolrank.opensearch.stats.TransportStatsAction;

/**
 * Reranks the hits of any search with a toolrank rescorer service. Here the parts are put together.
 */
public final class ToolrankPlugin extends Plugin
    implements ActionPlugin, SearchPlugin, SearchPipelinePlugin, ReloadablePlugin {

  private static final String THREAD_POOL = "toolrank";

  private final Settings settings;
  private volatile String key;
  private HttpRescorer http;
  private NodeRuntime runtime;

  /** Called by the node. Secure settings can be read now, not later. */
  public ToolrankPlugin(Settings settings) {
    this.settings = settings;
    this.key = NodeSettings.keyIn(settings);
  }

  @Override
  public List<Setting<?>> getSettings() {
    return NodeSettings.all();
  }

  /** Its tasks never wait, so few threads do for any number of searches. */
  @Override
  public List<ExecutorBuilder<?>> getExecutorBuilders(Settings nodeSettings) {
    int threads = Math.max(4, Runtime.getRuntime().availableProcessors());
    return List.of(
        new ScalingExecutorBuilder(
            THREAD_POOL, 1, threads, TimeValue.timeValueMinutes(5), "toolrank.thread_pool"));
  }

  @Override
  public Collection<Object> createComponents(
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
    Executor executor = threadPool.executor(THREAD_POOL);
    AtomicBoolean enabled = new AtomicBoolean(NodeSettings.ENABLED.get(settings));
    clusterService
        .getClusterSettings()
        .addSettingsUpdateConsumer(NodeSettings.ENABLED, enabled::set);
    Statistics statistics = new Statistics();
    Rescorer rescorer = rescorer(executor, statistics);
    runtime =
        new NodeRuntime(
            rescorer,
            statistics,
            client,
            threadPool.getThreadContext(),
            executor,
            enabled::get,
            NodeSettings.DEADLINE.get(settings).millis());
    return List.of(rescorer);
  }

  private Rescorer rescorer(Executor executor, Statistics statistics) {
    String endpoint = NodeSettings.ENDPOINT.get(settings);
    if (!endpoint.isEmpty()) {
      long limit = NodeSettings.MAX_ANSWER.get(settings).getBytes();
      http = new HttpRescorer(URI.create(endpoint), () -> key, limit, executor);
    }
    CircuitBreaker breaker =
        new CircuitBreaker(
            NodeSettings.BREAKER_FAILURES.get(settings),
            NodeSettings.BREAKER_PAUSE.get(settings).nanos(),
            System::nanoTime);
    return new Rescorer(http, breaker, NodeSettings.MAX_CONCURRENT.get(settings), statistics);
  }

  @Override
  public List<SearchExtSpec<?>> getSearchExts() {
    return List.of(
        new SearchExtSpec<>(RequestExt.NAME, RequestExt::new, RequestExt::fromXContent),
        new SearchExtSpec<>(ReportExt.NAME, ReportExt::new, ReportExt::fromXContent));
  }

  @Override
  public Map<String, Processor.Factory<SearchRequestProcessor>> getRequestProcessors(
      Parameters parameters) {
    return Map.of(WindowProcessor.TYPE, WindowProcessor.factory());
  }

  @Override
  public Map<String, Processor.Factory<SearchResponseProcessor>> getResponseProcessors(
      Parameters parameters) {
    return Map.of(RescoreProcessor.TYPE, RescoreProcessor.factory(() -> runtime));
  }

  @Override
  public List<ActionHandler<? extends ActionRequest, ? extends ActionResponse>> getActions() {
    return List.of(new ActionHandler<>(StatsAction.INSTANCE, TransportStatsAction.class));
  }

  @Override
  public List<RestHandler> getRestHandlers(
      Settings nodeSettings,
      RestController restController,
      ClusterSettings clusterSettings,
      IndexScopedSettings indexScopedSettings,
      SettingsFilter settingsFilter,
      IndexNameExpressionResolver indexNameExpressionResolver,
      Supplier<DiscoveryNodes> nodesInCluster) {
    return List.of(new RestStatsAction());
  }

  /** {@code POST _nodes/reload_secure_settings}: a new key without a restart. */
  @Override
  public void reload(Settings reloaded) {
    key = NodeSettings.keyIn(reloaded);
  }

  @Override
  public void close() {
    if (http != null) {
      http.close();
    }
  }
}
