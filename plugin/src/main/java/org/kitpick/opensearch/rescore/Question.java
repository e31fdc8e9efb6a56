package org.kitpick.opensearch.rescore;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.kitpick.opensearch.dsl.Dsl;
import org.kitpick.opensearch.dsl.QueryText;
import org.kitpick.opensearch.dsl.QueryVector;
import org.kitpick.opensearch.dsl.Restriction;
import org.kitpick.opensearch.wire.Vectors;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.search.builder.SearchSourceBuilder;

/**
 * What a search asks.
 *
 * @param text in words; null where nothing says it
 * @param named whether ext or path name the text. A text that was only found in the query may be a
 *     filter in disguise, so nothing is fetched on its account.
 * @param vector base64, or null
 * @param restrictions what every document must satisfy
 */
record Question(String text, boolean named, String vector, List<Map<String, Object>> restrictions) {

  static Question of(SearchRequest request, Page page, Options options, FieldNames names) {
    SearchSourceBuilder source = request.source();
    Map<String, Object> query = source == null ? null : Dsl.asMap(source.query());
    Map<String, Object> written = page.query() == null ? query : page.query();
    String named = options.query();
    if (named == null && options.queryPath() != null) {
      named =
          QueryText.at(written == null ? Map.of() : Map.of("query", written), options.queryPath());
    }
    String text = named == null && written != null ? QueryText.only(written) : named;
    List<?> vector = names.vector().isEmpty() ? null : QueryVector.of(query, names.vector());
    return new Question(
        text, named != null, Vectors.encode(vector), restrictions(page.forms(request), named));
  }

  /** Not of the query as it was written alone: other processors may have added filters to it. */
  private static List<Map<String, Object>> restrictions(List<SearchRequest> forms, String named) {
    return forms.stream()
        .filter(each -> each.source() != null)
        .map(each -> Restriction.of(Dsl.asMap(each.source().query()), named))
        .filter(Objects::nonNull)
        .distinct()
        .toList();
  }

  boolean isEmpty() {
    return text == null || text.isBlank();
  }
}
