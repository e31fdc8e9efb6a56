package org.kitpick.opensearch.catalog;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.lucene.search.Query;
import org.opensearch.core.common.ParsingException;
import org.opensearch.core.common.io.stream.StreamInput;
import org.opensearch.core.common.io.stream.StreamOutput;
import org.opensearch.core.xcontent.XContentBuilder;
import org.opensearch.core.xcontent.XContentParser;
import org.opensearch.core.xcontent.XContentParser.Token;
import org.opensearch.index.query.AbstractQueryBuilder;
import org.opensearch.index.query.BoolQueryBuilder;
import org.opensearch.index.query.QueryBuilder;
import org.opensearch.index.query.QueryBuilders;
import org.opensearch.index.query.QueryRewriteContext;
import org.opensearch.index.query.QueryShardContext;

/**
 * {@code {"kitpick": {"text": "make a copy of a file", "filter": {…}}}}: what somebody wants done.
 * It only carries what was written: {@link CatalogSearch} puts the ranked documents in its place
 * before the search begins.
 */
public final class KitpickQueryBuilder extends AbstractQueryBuilder<KitpickQueryBuilder> {

  /** Name in a search body. */
  public static final String NAME = "kitpick";

  private static final float LEAST_BOOST = 1e-30f;

  /** As the service takes them: more would be refused once they have filled the heap. */
  private static final int MOST_PRINCIPALS = 1_000;

  private static final String ALONE =
      "[kitpick] is the whole query of a search: put other conditions into its [filter]";

  private final String text;
  private final QueryBuilder filter;
  private final String tenant;
  private final List<String> principals;

  /**
   * What is asked, and by whom.
   *
   * @param text what is wanted, in words, never blank
   * @param filter what every document must match; null for nothing
   * @param tenant whose documents are visible beside those of nobody; empty for no tenant
   * @param principals who asks: without them only public documents are visible
   */
  public KitpickQueryBuilder(
      String text, QueryBuilder filter, String tenant, List<String> principals) {
    this.text = Objects.requireNonNull(text);
    this.filter = filter;
    this.tenant = tenant;
    this.principals = List.copyOf(principals);
  }

  /** From another node. */
  public KitpickQueryBuilder(StreamInput in) throws IOException {
    super(in);
    text = in.readString();
    filter = in.readOptionalNamedWriteable(QueryBuilder.class);
    tenant = in.readString();
    principals = in.readStringList();
  }

  /** From a search body. */
  public static KitpickQueryBuilder fromXContent(XContentParser parser) throws IOException {
    Draft draft = new Draft();
    while (parser.nextToken() != Token.END_OBJECT) {
      String key = parser.currentName();
      parser.nextToken();
      draft.take(key, parser);
    }
    if (draft.text.isBlank()) {
      throw wrong(parser, "[kitpick] needs a [text] that says what is wanted");
    }
    return new KitpickQueryBuilder(draft.text, draft.filter, draft.tenant, draft.principals)
        .boost(draft.boost)
        .queryName(draft.name);
  }

  /** What has been read of a body so far. */
  private static final class Draft {
    private String text = "";
    private QueryBuilder filter;
    private String tenant = "";
    private List<String> principals = List.of();
    private float boost = DEFAULT_BOOST;
    private String name;

    void take(String key, XContentParser parser) throws IOException {
      switch (key) {
        case "text" -> text = string(parser, key);
        case "filter" -> filter = conditions(parser);
        case "tenant" -> tenant = string(parser, key);
        case "principals" -> principals = strings(parser, key);
        case "boost" -> boost = boost(parser);
        case "_name" -> name = string(parser, key);
        default -> throw wrong(parser, "[kitpick] knows no [" + key + "]");
      }
    }
  }

  /** Scores are fractions of it, and tell ranks apart: none may be zero or infinite. */
  private static float boost(XContentParser parser) throws IOException {
    float boost = parser.floatValue();
    if (boost >= LEAST_BOOST && boost <= 1 / LEAST_BOOST) {
      return boost;
    }
    throw wrong(parser, "[kitpick] [boost] is the score of the first hit: a number above 0");
  }

  private static String string(XContentParser parser, String key) throws IOException {
    if (parser.currentToken() != Token.VALUE_STRING) {
      throw wrong(parser, "[kitpick] [" + key + "] is a string");
    }
    return parser.text();
  }

  private static List<String> strings(XContentParser parser, String key) throws IOException {
    if (parser.currentToken() != Token.START_ARRAY) {
      throw wrong(parser, "[kitpick] [" + key + "] is a list of strings");
    }
    List<String> values = new ArrayList<>();
    while (parser.nextToken() != Token.END_ARRAY) {
      values.add(string(parser, key));
      if (values.size() > MOST_PRINCIPALS) {
        throw wrong(parser, "[kitpick] [" + key + "] are " + MOST_PRINCIPALS + " at most");
      }
    }
    return values;
  }

  /** One query, or a list of which every one must match. */
  private static QueryBuilder conditions(XContentParser parser) throws IOException {
    if (parser.currentToken() == Token.START_OBJECT) {
      return parseInnerQueryBuilder(parser);
    }
    if (parser.currentToken() != Token.START_ARRAY) {
      throw wrong(parser, "[kitpick] [filter] is a query, or a list of queries");
    }
    BoolQueryBuilder all = QueryBuilders.boolQuery();
    while (parser.nextToken() != Token.END_ARRAY) {
      all.filter(parseInnerQueryBuilder(parser));
    }
    return all.filter().isEmpty() ? null : all;
  }

  private static ParsingException wrong(XContentParser parser, String message) {
    return new ParsingException(parser.getTokenLocation(), message);
  }

  /** What is wanted, in words. */
  String text() {
    return text;
  }

  /** What every document must match; null for nothing. */
  QueryBuilder condition() {
    return filter;
  }

  String tenant() {
    return tenant;
  }

  List<String> principals() {
    return principals;
  }

  @Override
  public String getWriteableName() {
    return NAME;
  }

  @Override
  protected void doWriteTo(StreamOutput out) throws IOException {
    out.writeString(text);
    out.writeOptionalNamedWriteable(filter);
    out.writeString(tenant);
    out.writeStringCollection(principals);
  }

  @Override
  protected void doXContent(XContentBuilder json, Params params) throws IOException {
    json.startObject(NAME).field("text", text);
    if (filter != null) {
      json.field("filter", filter);
    }
    if (!tenant.isEmpty()) {
      json.field("tenant", tenant);
    }
    if (!principals.isEmpty()) {
      json.field("principals", principals);
    }
    printBoostAndQueryName(json);
    json.endObject();
  }

  @Override
  protected QueryBuilder doRewrite(QueryRewriteContext context) {
    throw new IllegalArgumentException(ALONE);
  }

  @Override
  protected Query doToQuery(QueryShardContext context) {
    throw new IllegalArgumentException(ALONE);
  }

  @Override
  protected boolean doEquals(KitpickQueryBuilder other) {
    return text.equals(other.text)
        && Objects.equals(filter, other.filter)
        && tenant.equals(other.tenant)
        && principals.equals(other.principals);
  }

  @Override
  protected int doHashCode() {
    return Objects.hash(text, filter, tenant, principals);
  }
}
