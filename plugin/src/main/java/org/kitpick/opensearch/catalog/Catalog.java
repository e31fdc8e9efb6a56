package org.kitpick.opensearch.catalog;

import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.cluster.metadata.IndexAbstraction;
import org.opensearch.cluster.metadata.Metadata;
import org.opensearch.common.compress.CompressedXContent;
import org.opensearch.common.xcontent.XContentHelper;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.index.IndexNotFoundException;

/**
 * A catalog that kitpick keeps in this cluster.
 *
 * @param index name of its live index, which says what it was built with
 * @param committed the query for the documents of its last committed state: its alias' filter
 */
record Catalog(String index, Map<String, Object> committed) {

  private static final String LIVE_INDEX = "-apis-[0-9a-f]{12}-\\d+";

  /**
   * The catalog that a search asks by its name.
   *
   * @throws IllegalArgumentException where it asks something else
   */
  static Catalog of(SearchRequest request, Metadata metadata) {
    if (request.source().pointInTimeBuilder() != null) {
      throw new IllegalArgumentException("[kitpick] searches no point in time");
    }
    if (request.indices().length != 1) {
      throw refused(String.join(",", request.indices()));
    }
    String name = request.indices()[0];
    IndexAbstraction found = metadata.getIndicesLookup().get(name);
    if (found == null && !name.equals(Metadata.ALL) && Pattern.matches("[^*?,<>:]+", name)) {
      throw new IndexNotFoundException(name);
    }
    if (found == null || found.getType() != IndexAbstraction.Type.ALIAS) {
      throw refused(name);
    }
    return of(name, found);
  }

  private static Catalog of(String name, IndexAbstraction alias) {
    List<String> shown =
        alias.getIndices().stream().map(each -> each.getIndex().getName()).sorted().toList();
    if (shown.stream()
        .noneMatch(Pattern.compile(Pattern.quote(name) + LIVE_INDEX).asMatchPredicate())) {
      throw refused(name);
    }
    if (shown.size() > 1) {
      throw new IllegalArgumentException(
          "[kitpick] asks one index, and [%s] shows several: %s. After a restore `kitpick adopt` takes the copy off it"
              .formatted(name, String.join(", ", shown)));
    }
    CompressedXContent committed = alias.getIndices().get(0).getAliases().get(name).filter();
    if (committed == null) {
      throw refused(name);
    }
    return new Catalog(
        shown.get(0),
        XContentHelper.convertToMap(JsonXContent.jsonXContent, committed.string(), false));
  }

  private static IllegalArgumentException refused(String asked) {
    return new IllegalArgumentException(
        "[kitpick] asks one catalog of kitpick by its name, and [" + asked + "] is none here");
  }
}
