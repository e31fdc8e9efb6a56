package org.kitpick.opensearch.rescore;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.kitpick.opensearch.wire.Json;
import org.opensearch.core.common.bytes.BytesReference;
import org.opensearch.search.SearchHit;
import org.opensearch.search.builder.SearchSourceBuilder;
import org.opensearch.search.fetch.StoredFieldsContext;
import org.opensearch.search.fetch.subphase.FetchSourceContext;

/**
 * How much of a hit's source goes back to the user, where the search brings more of it for the
 * rescorer.
 *
 * <p>What the rescorer reads is added to the source, never to {@code fields}: a field that was
 * added there could not be told from the one that a pattern, a doc value, a script or {@code
 * collapse} brought for the user.
 *
 * @param asked what the user asked for; null: all that came
 * @param brought what the search brings in its place; null: what the user asked for
 */
record SourceView(FetchSourceContext asked, FetchSourceContext brought) {

  /** Of a search that brings what the user asked for. */
  static final SourceView WHOLE = new SourceView(null, null);

  private static final String SOURCE = "_source";

  /**
   * Makes the search bring {@code fields} as well, where the user's would hold them back. Where the
   * user wants no stored fields at all, the search engine refuses a source.
   */
  static SourceView widen(SearchSourceBuilder search, List<String> fields) {
    StoredFieldsContext stored = search.storedFields();
    FetchSourceContext asked = asked(search);
    boolean none = stored != null && !stored.fetchFields();
    if (none || fields.isEmpty() || (asked.fetchSource() && !isFiltered(asked))) {
      return WHOLE;
    }
    Set<String> names = new LinkedHashSet<>(fields);
    // Where the user filters no source, none may be filtered: k-NN, for one, leaves vectors out of
    // `fields` that a filtered source does not hold.
    boolean whole =
        search.fetchSource() == null
            || (asked.fetchSource() ? asked.includes().length == 0 : asksForFields(search));
    if (asked.fetchSource()) {
      names.addAll(List.of(asked.includes()));
    }
    FetchSourceContext brought =
        whole
            ? FetchSourceContext.FETCH_SOURCE
            : new FetchSourceContext(true, names.toArray(String[]::new), new String[0]);
    search.fetchSource(brought);
    return new SourceView(asked, brought);
  }

  private static boolean asksForFields(SearchSourceBuilder search) {
    return search.fetchFields() != null && !search.fetchFields().isEmpty();
  }

  /** Makes another search bring the same of each hit as the one that was widened. */
  void widenToo(SearchSourceBuilder other) {
    if (brought != null) {
      other.fetchSource(brought);
    }
  }

  /** Takes out of a hit what the user did not ask for. */
  void restore(SearchHit hit) {
    if (asked == null || !hit.hasSource()) {
      return;
    }
    hit.sourceRef(asked.fetchSource() ? filtered(hit) : null);
  }

  private BytesReference filtered(SearchHit hit) {
    Map<String, Object> kept = asked.getFilter().apply(hit.getSourceAsMap());
    return Json.of(json -> json.map(kept));
  }

  /** What the search engine makes of a search that says something, nothing, or a part. */
  private static FetchSourceContext asked(SearchSourceBuilder search) {
    FetchSourceContext said = search.fetchSource();
    List<String> stored = new ArrayList<>();
    if (search.storedFields() != null && search.storedFields().fetchFields()) {
      stored.addAll(search.storedFields().fieldNames());
    }
    if (stored.contains(SOURCE)) {
      return said == null
          ? FetchSourceContext.FETCH_SOURCE
          : new FetchSourceContext(true, said.includes(), said.excludes());
    }
    if (said != null) {
      return said;
    }
    boolean scripts = search.scriptFields() != null && !search.scriptFields().isEmpty();
    return search.storedFields() == null && !scripts
        ? FetchSourceContext.FETCH_SOURCE
        : FetchSourceContext.DO_NOT_FETCH_SOURCE;
  }

  private static boolean isFiltered(FetchSourceContext source) {
    return source.includes().length > 0 || source.excludes().length > 0;
  }
}
