package org.kitpick.opensearch.catalog;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.opensearch.index.query.BoolQueryBuilder;
import org.opensearch.index.query.MultiMatchQueryBuilder;
import org.opensearch.index.query.QueryBuilder;
import org.opensearch.index.query.QueryBuilders;

/**
 * What a {@code kitpick} query finds where nobody ranks it: documents that hold its words, by the
 * search engine's own scores. Whom a document is for is heeded as ever.
 */
final class WordsQuery {

  /** Each is a clause in every field, and a search may have 1,024. */
  private static final int MAX_WORDS = 32;

  private static final Pattern WORD =
      Pattern.compile(
          "[\\p{IsHan}\\p{IsHiragana}\\p{IsKatakana}\\p{IsHangul}]|[\\p{L}\\p{N}]{1,40}");

  /** Words of nearly every sentence. */
  private static final Set<String> GRAMMAR =
      Set.of(
          ("a an and are as at be by can do does for from how i in into is it me my of on or please"
                  + " that the then this to want was what which will with would you your")
              .split(" "));

  /** The text fields of a catalog's index, and how much a word in them counts. */
  private static final Map<String, Float> FIELDS =
      Map.of(
          "api.text", 2f,
          "tool.text", 2f,
          "category.text", 1f,
          "description", 1f,
          "parameters.name", 0.5f,
          "parameters.description", 0.5f,
          "examples", 1f);

  private WordsQuery() {}

  static BoolQueryBuilder of(KitpickQueryBuilder asked) {
    BoolQueryBuilder query =
        QueryBuilders.boolQuery()
            .must(matching(words(asked)))
            .filter(permitted(asked))
            .filter(QueryBuilders.termsQuery("tenant", List.of("", asked.tenant())));
    if (asked.condition() != null) {
      query.filter(asked.condition());
    }
    return query.boost(asked.boost()).queryName(asked.queryName());
  }

  /**
   * What a highlighter marks: the words of the request, but those that say nothing by themselves.
   */
  static QueryBuilder marked(KitpickQueryBuilder asked) {
    List<String> words = words(asked);
    List<String> telling =
        words.stream().filter(word -> !GRAMMAR.contains(word.toLowerCase(Locale.ROOT))).toList();
    return matching(telling.isEmpty() ? words : telling);
  }

  private static List<String> words(KitpickQueryBuilder asked) {
    return WORD.matcher(asked.text()).results().map(MatchResult::group).limit(MAX_WORDS).toList();
  }

  private static MultiMatchQueryBuilder matching(List<String> words) {
    return QueryBuilders.multiMatchQuery(String.join(" ", words))
        .fields(FIELDS)
        .type(MultiMatchQueryBuilder.Type.MOST_FIELDS);
  }

  private static BoolQueryBuilder permitted(KitpickQueryBuilder asked) {
    BoolQueryBuilder any = QueryBuilders.boolQuery().minimumShouldMatch(1);
    any.should(QueryBuilders.termQuery("public", true));
    if (!asked.principals().isEmpty()) {
      any.should(QueryBuilders.termsQuery("allowed", asked.principals()));
    }
    return any;
  }
}
