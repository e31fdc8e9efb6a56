package org.kitpick.opensearch;

import java.net.URI;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.kitpick.opensearch.catalog.CatalogSearchFilter;
import org.kitpick.opensearch.catalog.KitpickQueryBuilder;
import org.kitpick.opensearch.catalog.RestExplainAction;
import org.kitpick.opensearch.guard.HeapShare;
import org.kitpick.opensearch.guard.LoadShare;
import org.kitpick.opensearch.guard.OperatorLog;
import org.kitpick.opensearch.guard.Rescorer;
import org.kitpick.opensearch.guard.WaitingLine;
import org.kitpick.opensearch.http.HttpRescorer;
import org.kitpick.opensearch.http.TlsStores;
import org.kitpick.opensearch.rescore.NodeRuntime;
import org.kitpick.opensearch.rescore.ReportExt;
import org.kitpick.opensearch.rescore.RequestExt;
import org.kitpick.opensearch.rescore.RescoreProcessor;
import org.kitpick.opensearch.rescore.VectorModels;
import org.kitpick.opensearch.rescore.WindowProcessor;
import org.kitpick.opensearch.server.ServerPlugin;
import org.kitpick.opensearch.stats.RestMetricsAction;
import org.kitpick.opensearch.stats.RestStatsAction;
import org.kitpick.opensearch.stats.Statistics;
import org.kitpick.opensearch.stats.StatsResponse;
import org.kitpick.opensearch.stats.TransportStatsAction;
import org.opensearch.action.ActionRequest;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.action.support.ActionFilter;
import org.opensearch.cluster.metadata.IndexNameExpressionResolver;
import org.opensearch.cluster.node.DiscoveryNodes;
import org.opensearch.cluster.service.ClusterService;
import org.opensearch.common.settings.ClusterSettings;
import org.opensearch.common.settings.IndexScopedSettings;
import org.opensearch.common.settings.Setting;
import org.opensearch.common.settings.Settings;
import org.opensearch.common.settings.SettingsFilter;
import org.opensearch.common.unit.TimeValue;
import org.opensearch.core.action.ActionListener;
import org.opensearch.core.action.ActionResponse;
import org.opensearch.core.common.breaker.CircuitBreaker;
import org.opensearch.core.xcontent.NamedXContentRegistry;
import org.opensearch.indices.breaker.BreakerSettings;
import org.opensearch.monitor.jvm.JvmInfo;
import org.opensearch.plugins.ActionPlugin;
import org.opensearch.plugins.CircuitBreakerPlugin;
import org.opensearch.plugins.ReloadablePlugin;
import org.opensearch.plugins.SearchPipelinePlugin;
import org.opensearch.plugins.SearchPlugin;
import org.opensearch.rest.RestController;
import org.opensearch.rest.RestHandler;
import org.opensearch.search.pipeline.Processor;
import org.opensearch.search.pipeline.SearchRequestProcessor;
import org.opensearch.search.pipeline.SearchResponseProcessor;
import org.opensearch.threadpool.ExecutorBuilder;
import org.opensearch.threadpool.ScalingExecutorBuilder;
import org.opensearch.threadpool.ThreadPool;

/**
 * Reranks the hits of any search with a kitpick rescorer service. Here the parts are put together.
 */
public final class KitpickPlugin extends ServerPlugin
    implements ActionPlugin,
        CircuitBreakerPlugin,
        SearchPlugin,
        SearchPipelinePlugin,
        ReloadablePlugin {

  private static final String THREAD_POOL = "kitpick";

  private final Settings settings;
  private final TlsStores tls;
  private volatile String key;
  private HttpRescorer http;
  private volatile CircuitBreaker memory;
  private volatile NodeRuntime runtime;

  /** Called by the node. Secure settings can be read now, not later. */
  public KitpickPlugin(Settings settings) {
    this.settings = settings;
    this.key = NodeSettings.keyIn(settings);
    this.tls = NodeSettings.tlsIn(settings);
  }

  /** Runs a search on this node, once it has started, as whoever the thread context says. */
  public void search(SearchRequest request, ActionListener<SearchResponse> listener) {
    runtime.search().accept(request, listener);
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
            THREAD_POOL, 1, threads, TimeValue.timeValueMinutes(5), "kitpick.thread_pool"));
  }

  @Override
  protected Collection<Object> components(
      BiConsumer<SearchRequest, ActionListener<SearchResponse>> search,
      ClusterService clusterService,
      ThreadPool threadPool,
      NamedXContentRegistry registry,
      Path config) {
    Executor executor = threadPool.executor(THREAD_POOL);
    ClusterSettings live = clusterService.getClusterSettings();
    Statistics statistics = new Statistics();
    OperatorLog log = new OperatorLog(System::nanoTime);
    Rescorer rescorer = rescorer(executor, statistics, log, live, config);
    Supplier<TimeValue> deadline = latest(NodeSettings.DEADLINE, live);
    runtime =
        new NodeRuntime(
            rescorer,
            statistics,
            search,
            threadPool.getThreadContext(),
            executor,
            latest(NodeSettings.ENABLED, live)::get,
            () -> rescorer.deadlineMillis(deadline.get().millis()),
            latest(NodeSettings.MAX_WINDOW, live)::get,
            new VectorModels(() -> clusterService.state().metadata()),
            log,
            clusterService,
            registry);
    return List.of(rescorer);
  }

  /** The value as operators last set it, in the node's file or while it runs. */
  private <T> Supplier<T> latest(Setting<T> setting, ClusterSettings live) {
    AtomicReference<T> value = new AtomicReference<>(setting.get(settings));
    live.addSettingsUpdateConsumer(setting, value::set);
    return value::get;
  }

  private Rescorer rescorer(
      Executor executor,
      Statistics statistics,
      OperatorLog log,
      ClusterSettings live,
      Path config) {
    String endpoint = NodeSettings.ENDPOINT.get(settings);
    if (!endpoint.isEmpty()) {
      long limit = NodeSettings.MAX_ANSWER.get(settings).getBytes();
      http =
          new HttpRescorer(URI.create(endpoint), () -> key, limit, executor, tls.context(config));
    }
    Supplier<TimeValue> pause = latest(NodeSettings.BREAKER_PAUSE, live);
    var breaker =
        new org.kitpick.opensearch.guard.CircuitBreaker(
            latest(NodeSettings.BREAKER_FAILURES, live)::get,
            () -> pause.get().nanos(),
            System::nanoTime);
    LoadShare share = new LoadShare(System::nanoTime);
    HeapShare heap = new HeapShare(() -> memory);
    return new Rescorer(
        http,
        breaker,
        share,
        new WaitingLine(share, executor, System::nanoTime),
        heap,
        latest(NodeSettings.MAX_CONCURRENT, live)::get,
        statistics,
        log);
  }

  /**
   * A tenth of the heap; {@code breaker.kitpick.limit} says otherwise, also while the node runs.
   */
  @Override
  public BreakerSettings getCircuitBreaker(Settings nodeSettings) {
    long limit = JvmInfo.jvmInfo().getMem().getHeapMax().getBytes() / 10;
    return BreakerSettings.updateFromSettings(
        new BreakerSettings(
            HeapShare.NAME,
            limit,
            1.0,
            CircuitBreaker.Type.MEMORY,
            CircuitBreaker.Durability.TRANSIENT),
        nodeSettings);
  }

  @Override
  public void setCircuitBreaker(CircuitBreaker circuitBreaker) {
    memory = circuitBreaker;
  }

  @Override
  public List<QuerySpec<?>> getQueries() {
    return List.of(
        new QuerySpec<>(
            KitpickQueryBuilder.NAME, KitpickQueryBuilder::new, KitpickQueryBuilder::fromXContent));
  }

  @Override
  public List<ActionFilter> getActionFilters() {
    return List.of(new CatalogSearchFilter(() -> runtime));
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
    return Map.of(
        WindowProcessor.TYPE, WindowProcessor.factory(() -> runtime.away(), this::maxWindow));
  }

  private int maxWindow() {
    return runtime == null ? NodeSettings.MAX_WINDOW.get(settings) : runtime.maxWindow().getAsInt();
  }

  @Override
  public Map<String, Processor.Factory<SearchResponseProcessor>> getResponseProcessors(
      Parameters parameters) {
    return Map.of(RescoreProcessor.TYPE, RescoreProcessor.factory(() -> runtime));
  }

  @Override
  public List<ActionHandler<? extends ActionRequest, ? extends ActionResponse>> getActions() {
    return List.of(new ActionHandler<>(StatsResponse.ACTION, TransportStatsAction.class));
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
    return List.of(new RestStatsAction(), new RestMetricsAction(), new RestExplainAction());
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
