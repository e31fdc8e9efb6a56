package org.kitpick.opensearch.catalog;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.kitpick.opensearch.dsl.Dsl;
import org.kitpick.opensearch.guard.FailureReason;
import org.kitpick.opensearch.guard.Failures;
import org.kitpick.opensearch.guard.FirstStageFailure;
import org.kitpick.opensearch.guard.RescoreFailure;
import org.kitpick.opensearch.guard.Rescorer;
import org.kitpick.opensearch.rescore.NeedSearch;
import org.kitpick.opensearch.rescore.NodeRuntime;
import org.kitpick.opensearch.rescore.Options;
import org.kitpick.opensearch.rescore.Options.OnFailure;
import org.kitpick.opensearch.rescore.RequestExt;
import org.kitpick.opensearch.rescore.UserSearch;
import org.kitpick.opensearch.stats.Statistics.Count;
import org.kitpick.opensearch.wire.RescoreAnswer;
import org.kitpick.opensearch.wire.RescoreAnswer.Hit;
import org.kitpick.opensearch.wire.SearchCall;
import org.opensearch.ExceptionsHelper;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.common.unit.TimeValue;
import org.opensearch.common.xcontent.LoggingDeprecationHandler;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.core.action.ActionListener;
import org.opensearch.core.rest.RestStatus;
import org.opensearch.core.tasks.TaskCancelledException;
import org.opensearch.core.xcontent.XContentBuilder;
import org.opensearch.core.xcontent.XContentParser;
import org.opensearch.index.query.QueryBuilders;
import org.opensearch.search.builder.SearchSourceBuilder;
import org.opensearch.tasks.CancellableTask;
import org.opensearch.tasks.Task;

/**
 * One search with a {@code kitpick} query: asks the service for the ranking, and searches for the
 * ranked documents instead. Without the service it searches for the words.
 */
final class CatalogSearch extends UserSearch<RescoreAnswer, SearchReport> {

  static final int DEFAULT_SIZE = 10;
  private static final int MOST_HITS = 10_000;

  private final SearchRequest request;
  private final KitpickQueryBuilder asked;
  private final Task task;
  private final Options options;
  private final PagedExchange exchange;
  private final long deadlineMillis;
  private final boolean fullTime;
  private final int end;

  private CatalogSearch(
      NodeRuntime node,
      SearchRequest request,
      KitpickQueryBuilder asked,
      Task task,
      Catalog catalog) {
    super(node);
    this.request = request;
    this.asked = asked;
    this.task = task;
    this.options = RequestExt.optionsOf(request);
    long allowed = node.deadlineMillis().getAsLong();
    this.deadlineMillis = Math.min(allowed, saidMillis(request, options));
    this.fullTime = deadlineMillis == allowed;
    this.end = end(request.source());
    this.exchange = new PagedExchange(end, k -> exchange(call(catalog, k)));
    mark(request.source());
  }

  /** How long a request gives the search: by its options, or by OpenSearch's own key. */
  private static long saidMillis(SearchRequest request, Options options) {
    TimeValue timeout = request.source().timeout();
    long said = options.deadlineMillis() == null ? Long.MAX_VALUE : options.deadlineMillis();
    return timeout == null || timeout.millis() < 1 ? said : Math.min(said, timeout.millis());
  }

  private SearchExchange exchange(SearchCall call) {
    return new SearchExchange(call, this::leftMillis, hasFullTime(), this::written, this::search);
  }

  /** Whether all the time is left that this node gives: a search that waited has less. */
  private boolean hasFullTime() {
    return fullTime && leftMillis() >= deadlineMillis * 9 / 10;
  }

  /** Words alone are a poor answer, so it waits for room. */
  @Override
  protected CompletableFuture<RescoreAnswer> permitted(
      Function<Rescorer, CompletableFuture<RescoreAnswer>> exchange) {
    boolean usual = options.profile() == null && end <= PagedExchange.FIRST;
    return node.rescorer().waitingForPermit(exchange, leftMillis(), usual);
  }

  /** Asked before each call and each search: none is begun for somebody who has left. */
  private long leftMillis() {
    throwIfCancelled();
    return deadlineMillis - (long) millis();
  }

  private void throwIfCancelled() {
    if (task instanceof CancellableTask own && own.isCancelled()) {
      throw new TaskCancelledException("the search was cancelled: " + own.getReasonCancelled());
    }
  }

  /** Ranked documents are found by their ids, and nobody wants those marked. */
  private void mark(SearchSourceBuilder source) {
    if (source.highlighter() != null && source.highlighter().highlightQuery() == null) {
      source.highlighter().highlightQuery(WordsQuery.marked(asked));
    }
  }

  /** How many hits the user wants, earlier pages included. */
  private static int end(SearchSourceBuilder source) {
    long size = source.size() < 0 ? DEFAULT_SIZE : source.size();
    return (int) Math.min(MOST_HITS, Math.max(0, source.from()) + size);
  }

  /**
   * The search that a request asks for.
   *
   * @throws IllegalArgumentException where it asks no catalog
   */
  static CatalogSearch of(
      NodeRuntime node, SearchRequest request, KitpickQueryBuilder asked, Task task) {
    Catalog catalog = Catalog.of(request, node.cluster().state().metadata());
    Refusals.check(request, RequestExt.optionsOf(request));
    return new CatalogSearch(node, request, asked, task, catalog);
  }

  @Override
  protected void rank(ActionListener<SearchReport> listener) {
    RescoreFailure shut = node.shut();
    if (shut != null) {
      throw shut;
    }
    ask(exchange::run, listener);
  }

  @Override
  protected SearchReport ranked(RescoreAnswer answer) {
    List<Hit> all = answer.results();
    int most = node.maxWindow().getAsInt();
    List<Hit> kept = all.subList(0, Math.min(all.size(), most));
    findRanked(kept.stream().map(Hit::id).toList());
    node.statistics().count(Count.RESCORED);
    node.statistics().took(millis(), answer.totalMillis());
    List<Map<String, Object>> missing = new ArrayList<>(exchange.missing());
    if (end > most && all.size() > most) {
      missing.add(capped(most));
    }
    if (!answer.degraded().isEmpty() || !missing.isEmpty()) {
      node.statistics().count(Count.DEGRADED);
    }
    boolean explained = !Boolean.FALSE.equals(options.explain());
    boolean scored = request.source().rescores() == null || request.source().rescores().isEmpty();
    return SearchReport.ranked(
        answer, explained ? kept : List.of(), missing, scored ? asked.boost() : 0f);
  }

  private void findRanked(List<String> ids) {
    request.source().query(RankedQuery.of(ids, RankedQuery.inOrder(request), asked));
  }

  /** The first stage fused, where the service had time to say what it is; else words alone. */
  @Override
  protected SearchReport unranked(Throwable failure) throws Exception {
    throwIfCancelled();
    throwIfTheUsers(failure);
    RescoreFailure named = Failures.of(failure);
    node.unranked(named);
    if (options.onFailure() == OnFailure.FAIL) {
      throw named;
    }
    List<String> found = exchange.firstStage();
    if (found.isEmpty()) {
      request.source().query(WordsQuery.of(asked));
      return SearchReport.unranked(named, "found by words alone, and not ranked");
    }
    int most = Math.min(found.size(), node.maxWindow().getAsInt());
    findRanked(found.subList(0, most));
    return SearchReport.unranked(named, "in the order of the fused first stage, and not ranked");
  }

  /**
   * A search that the engine refuses, because of its filter for instance, would be refused again.
   */
  private static void throwIfTheUsers(Throwable failure) throws Exception {
    Throwable refused = ExceptionsHelper.unwrap(failure, FirstStageFailure.class);
    if (refused != null
        && refused.getCause() instanceof Exception cause
        && ExceptionsHelper.status(cause).getStatus()
            < RestStatus.INTERNAL_SERVER_ERROR.getStatus()) {
      throw cause;
    }
  }

  private static Map<String, Object> capped(int most) {
    return Map.of("stage", "window", "reason", "kitpick.max_window is " + most);
  }

  private SearchCall call(Catalog catalog, int k) {
    return new SearchCall(
        asked.text(),
        catalog.index(),
        catalog.committed(),
        k,
        asked.tenant(),
        asked.principals(),
        Dsl.asMap(asked.condition()),
        options.profile(),
        Boolean.TRUE.equals(options.trace()));
  }

  /**
   * A search of the first stage: what the service wrote, over what the user searches, and under the
   * user's filter, whatever the service wrote.
   */
  private SearchRequest written(Map<?, ?> body) {
    SearchSourceBuilder source = parsed(body);
    if (source.query() instanceof KitpickQueryBuilder) {
      throw new RescoreFailure(
          FailureReason.INVALID_ANSWER, "the service wants to be asked what it was asked");
    }
    if (asked.condition() != null) {
      source.query(
          source.query() == null
              ? asked.condition()
              : QueryBuilders.boolQuery().must(source.query()).filter(asked.condition()));
    }
    SearchRequest search = NeedSearch.beside(request, source, leftMillis());
    search.setParentTask(node.cluster().localNode().getId(), task.getId());
    return search;
  }

  private SearchSourceBuilder parsed(Map<?, ?> body) {
    try (XContentBuilder json = JsonXContent.contentBuilder().value(body);
        XContentParser parser =
            JsonXContent.jsonXContent.createParser(
                node.registry(), LoggingDeprecationHandler.INSTANCE, json.toString())) {
      return SearchSourceBuilder.fromXContent(parser);
    } catch (IOException | RuntimeException e) { // parsers of queries throw what they like
      throw new RescoreFailure(
          FailureReason.INVALID_ANSWER,
          "the service wrote a search that this version of OpenSearch does not read");
    }
  }
}
