package org.kitpick.opensearch.rescore;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.kitpick.opensearch.dsl.Dsl;
import org.kitpick.opensearch.wire.Json;
import org.kitpick.opensearch.wire.Need;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.common.unit.TimeValue;
import org.opensearch.index.query.BoolQueryBuilder;
import org.opensearch.index.query.QueryBuilder;
import org.opensearch.index.query.QueryBuilders;
import org.opensearch.search.builder.SearchSourceBuilder;
import org.opensearch.search.fetch.subphase.FieldAndFormat;
import org.opensearch.search.fetch.subphase.highlight.HighlightBuilder;
import org.opensearch.search.pipeline.SearchPipelineService;

/**
 * Writes the searches that answer a {@link Need}: over the same indices, aliases and point in time
 * as the user's search, under its restrictions, and bringing the same fields. They run in the
 * user's security context, so that document- and field-level security hold for them as well.
 */
public final class NeedSearch {

  private final SearchRequest original;
  private final Page page;
  private final Question question;
  private final FieldNames names;

  NeedSearch(SearchRequest original, Page page, Question question, FieldNames names) {
    this.original = original;
    this.page = page;
    this.question = question;
    this.names = names;
  }

  /** Why documents can't be fetched for this search at all; null where they can. */
  String obstacle() {
    if (!question.named()) {
      return "the query text was only guessed: say it in ext.kitpick.query or query_path";
    }
    if (!page.widened()) {
      return "without kitpick_window the hits that they push off the page would be on no other";
    }
    SearchSourceBuilder source = original.source();
    if (source != null && source.collapse() != null) {
      return "the search collapses its hits";
    }
    if (source != null && source.getDerivedFieldsObject() != null) {
      return "the search defines derived fields";
    }
    return forms().anyMatch(each -> each.minScore() != null)
        ? "the search has a min_score, which nothing that is fetched could be held to"
        : null;
  }

  /** At most two searches that together bring what is wanted, each no more than {@code most}. */
  List<SearchRequest> requests(Need need, int most, long leftMillis) {
    List<SearchRequest> requests = new ArrayList<>();
    if (!need.tools().isEmpty()) {
      BoolQueryBuilder query = QueryBuilders.boolQuery();
      query.filter(QueryBuilders.termsQuery(names.toolKey(), need.tools()));
      restrictions().forEach(query::filter);
      requests.add(request(query, most, leftMillis));
    }
    if (need.vector() != null && !names.vector().isEmpty()) {
      int k = Math.min(need.k(), most);
      requests.add(request(nearest(need.vector(), k), k, leftMillis));
    }
    return requests;
  }

  private SearchRequest request(QueryBuilder query, int size, long leftMillis) {
    SearchRequest request = beside(original, likeOriginal().query(query).size(size), leftMillis);
    request.setCcsMinimizeRoundtrips(original.isCcsMinimizeRoundtrips());
    return request;
  }

  /** A search over what the user searches, as long as that may still take. */
  public static SearchRequest beside(
      SearchRequest original, SearchSourceBuilder source, long leftMillis) {
    TimeValue left = TimeValue.timeValueMillis(Math.max(1, leftMillis));
    SearchRequest request = new SearchRequest(original.indices());
    request.indicesOptions(original.indicesOptions());
    request.routing(original.routing());
    request.preference(original.preference());
    if (original.allowPartialSearchResults() != null) {
      request.allowPartialSearchResults(original.allowPartialSearchResults());
    }
    request.setCancelAfterTimeInterval(left);
    // Else an index with a default pipeline would rescore the answer to its own question.
    request.pipeline(SearchPipelineService.NOOP_PIPELINE_ID);
    return request.source(source.timeout(left));
  }

  /** What the user asked to see of each hit, which is also what the reader of hits expects. */
  private SearchSourceBuilder likeOriginal() {
    SearchSourceBuilder source = new SearchSourceBuilder().trackTotalHits(false);
    SearchSourceBuilder user = original.source();
    if (user == null) {
      return source;
    }
    source.fetchSource(user.fetchSource());
    // OpenSearch 2 keeps the search as it was before the window processor.
    page.shown().widenToo(source);
    source.storedFields(user.storedFields());
    source.version(user.version()).seqNoAndPrimaryTerm(user.seqNoAndPrimaryTerm());
    source.pointInTimeBuilder(user.pointInTimeBuilder());
    for (FieldAndFormat each : orEmpty(user.fetchFields())) {
      source.fetchField(each.field, each.format);
    }
    for (FieldAndFormat each : orEmpty(user.docValueFields())) {
      source.docValueField(each.field, each.format);
    }
    for (SearchSourceBuilder.ScriptField each : orEmpty(user.scriptFields())) {
      source.scriptField(each.fieldName(), each.script(), each.ignoreFailure());
    }
    HighlightBuilder marks = user.highlighter();
    if (marks != null) {
      boolean own = marks.highlightQuery() != null || user.query() == null;
      source.highlighter(own ? marks : new HighlightBuilder(marks, user.query(), marks.fields()));
    }
    return source;
  }

  private List<QueryBuilder> restrictions() {
    return Stream.concat(
            question.restrictions().stream().map(NeedSearch::wrapped),
            forms().map(SearchSourceBuilder::postFilter).filter(Objects::nonNull).distinct())
        .toList();
  }

  private Stream<SearchSourceBuilder> forms() {
    return page.forms(original).stream().map(SearchRequest::source).filter(Objects::nonNull);
  }

  /** k-NN filters while it searches: filtering afterwards would leave fewer than k. */
  private QueryBuilder nearest(float[] vector, int k) {
    Map<String, Object> options = new LinkedHashMap<>();
    options.put("vector", vector);
    options.put("k", k);
    List<QueryBuilder> restrictions = restrictions();
    if (!restrictions.isEmpty()) {
      BoolQueryBuilder filter = QueryBuilders.boolQuery();
      restrictions.forEach(filter::filter);
      options.put("filter", Dsl.asMap(filter));
    }
    return wrapped(Map.of("knn", Map.of(names.vector(), options)));
  }

  /** A query of which only the JSON is known; the node parses it like one from outside. */
  private static QueryBuilder wrapped(Map<String, Object> query) {
    return QueryBuilders.wrapperQuery(Json.of(json -> json.map(query)));
  }

  private static <T> List<T> orEmpty(List<T> list) {
    return list == null ? List.of() : list;
  }
}
