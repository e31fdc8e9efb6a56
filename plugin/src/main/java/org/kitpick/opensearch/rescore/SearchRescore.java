package org.kitpick.opensearch.rescore;

import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.kitpick.opensearch.guard.Failures;
import org.kitpick.opensearch.guard.RescoreFailure;
import org.kitpick.opensearch.rescore.Options.OnFailure;
import org.kitpick.opensearch.rescore.RescoreExchange.Job;
import org.kitpick.opensearch.stats.Statistics.Count;
import org.kitpick.opensearch.wire.RescoreCall;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.core.action.ActionListener;
import org.opensearch.search.SearchHit;

/** One search on its way through the processor, from the first stage's response to the user's. */
final class SearchRescore extends UserSearch<Ranking, SearchResponse> {

  private final Config config;
  private final SearchRequest request;
  private final SearchResponse response;
  private final Page page;
  private final Options said;
  private final Options options;
  private final int maxWindow;
  private final VectorModel model;
  private final FieldNames names;
  private final ResponseBuilder responses;

  SearchRescore(
      NodeRuntime node, Config config, SearchRequest request, SearchResponse response, Page page) {
    super(node);
    this.config = config;
    this.request = request;
    this.response = response;
    this.page = page;
    this.said = RequestExt.optionsOf(request);
    this.options = said.over(config.options());
    this.maxWindow = node.maxWindow().getAsInt();
    this.model =
        config.names().holdVectors()
            ? VectorModel.of(options.vectorModel(), window(), node.models()::of)
            : new VectorModel(options.vectorModel(), null);
    this.names = model.conflict() == null ? config.names() : config.names().withoutVectors();
    this.responses = new ResponseBuilder(response, page, options, maxWindow, model.conflict());
  }

  @Override
  protected void rank(ActionListener<SearchResponse> listener) {
    Question question = Question.of(request, page, options, names);
    SkipReason skip = skip(question);
    throwIfAway(skip);
    if (skip == null) {
      skip = skipPage(question);
    }
    Documents documents = skip == null ? new Documents(reader(), window()) : null;
    if (skip == null && documents.window().stream().allMatch(each -> each.text().isBlank())) {
      skip = SkipReason.NO_TEXT;
    }
    if (skip != null) {
      node.statistics().skipped(skip.code());
      SearchResponse unchanged = responses.skipped(skip);
      asUser(() -> listener.onResponse(unchanged));
      return;
    }
    RescoreExchange exchange = new RescoreExchange(job(question, documents), this::fetch);
    ask(exchange::run, listener);
  }

  /** A search that somebody should rank has not got what it lacks of a window: nobody could. */
  private void throwIfAway(SkipReason skip) {
    RescoreFailure away = page.window() == null || page.widened() ? node.shut() : page.away();
    if (skip == null && away != null) {
      throw away;
    }
  }

  private SkipReason skip(Question question) {
    SkipReason skip = SkipReason.of(request, page);
    if (skip != null) {
      return skip;
    }
    if (response.getHits().getHits().length == 0) {
      return SkipReason.NO_HITS;
    }
    return question.isEmpty() ? SkipReason.NO_QUERY_TEXT : null;
  }

  private SkipReason skipPage(Question question) {
    if (page.from() >= windowSize() && !(page.widened() && fetches(question))) {
      return SkipReason.BEYOND_WINDOW;
    }
    return page.from() > 0 && !page.widened() ? SkipReason.NO_WINDOW : null;
  }

  /** Whether documents may come before the window's: only then what lies behind it moves. */
  private boolean fetches(Question question) {
    return options.rounds() > 0 && need(question).obstacle() == null;
  }

  private NeedSearch need(Question question) {
    return new NeedSearch(request, page, question, names);
  }

  private Job job(Question question, Documents documents) {
    long allowed = node.deadlineMillis().getAsLong();
    if (config.options().deadlineMillis() != null) {
      allowed = Math.min(allowed, config.options().deadlineMillis());
    }
    long deadline =
        said.deadlineMillis() == null ? allowed : Math.min(allowed, said.deadlineMillis());
    RescoreCall call =
        new RescoreCall(
            question.text(),
            options.profile(),
            question.vector(),
            model.name(),
            documents.window(),
            documents.fetched(),
            Set.of(),
            window().stream().allMatch(hit -> node.models().of(Documents.index(hit)) == null),
            Boolean.TRUE.equals(options.trace()));
    return new Job(
        call,
        documents,
        need(question),
        options.rounds(),
        config.maxFetched(),
        () -> deadline - (long) millis(),
        deadline == allowed);
  }

  private void fetch(SearchRequest wanted, ActionListener<SearchResponse> found) {
    node.statistics().count(Count.FETCHES);
    search(wanted, found);
  }

  @Override
  protected SearchResponse ranked(Ranking ranking) {
    double took = millis();
    SearchResponse built = responses.rescored(ranking, took);
    node.statistics().count(Count.RESCORED);
    node.statistics().add(Count.FETCHED_DOCUMENTS, ranking.documents().fetched().size());
    if (ReportExt.of(built).containsKey("degraded")) {
      node.statistics().count(Count.DEGRADED);
    }
    node.statistics().took(took, ranking.serviceMillis());
    return built;
  }

  @Override
  protected SearchResponse unranked(Throwable cause) {
    RescoreFailure failure = Failures.of(cause);
    node.unranked(failure);
    if (options.onFailure() == OnFailure.FAIL) {
      throw failure;
    }
    return responses.original(failure, millis());
  }

  private List<SearchHit> window() {
    List<SearchHit> all = Arrays.asList(response.getHits().getHits());
    return all.subList(0, Math.min(windowSize(), all.size()));
  }

  private int windowSize() {
    return Math.min(page.window(options), maxWindow);
  }

  private HitReader reader() {
    return new HitReader(
        names,
        windowSize() + config.maxFetched(),
        hit -> model.takes(node.models().of(Documents.index(hit))));
  }
}
