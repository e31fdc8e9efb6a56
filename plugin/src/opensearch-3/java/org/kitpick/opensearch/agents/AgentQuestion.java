package org.kitpick.opensearch.agents;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.kitpick.opensearch.catalog.KitpickQueryBuilder;
import org.opensearch.OpenSearchParseException;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.common.xcontent.XContentHelper;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.core.common.Strings;
import org.opensearch.index.query.QueryBuilder;
import org.opensearch.index.query.QueryBuilders;
import org.opensearch.search.builder.SearchSourceBuilder;

/**
 * What an agent asks of a catalog, as ml-commons hands it over. A model says what is wanted and
 * nothing else: catalog, filter, tenant and principals are those of who made and who asks the
 * agent.
 *
 * @param made what the tool was made with
 * @param said what it is run with
 */
record AgentQuestion(Map<String, Object> made, Map<String, String> said) {

  private static final String[] FIELDS = {"id", "category", "tool", "api", "description"};
  private static final Pattern PLACEHOLDER = Pattern.compile("\\$\\{parameters\\.([^}]+)}");

  /**
   * The search that answers it.
   *
   * @throws IllegalArgumentException where the parameters ask for none, saying what is wrong
   */
  SearchRequest search() {
    String index = set("index", "");
    if (index.isBlank()) {
      throw wrong("needs [index], the name of a catalog, in its [config]");
    }
    String filter = set("filter", "");
    QueryBuilder condition = filter.isBlank() ? null : QueryBuilders.wrapperQuery(filter);
    String[] principals = Strings.splitStringByCommaToArray(set("principals", ""));
    SearchSourceBuilder source =
        new SearchSourceBuilder()
            .query(
                new KitpickQueryBuilder(text(), condition, set("tenant", ""), List.of(principals)))
            .size(size())
            .fetchSource(FIELDS, null);
    return new SearchRequest(index).source(source);
  }

  private String set(String key, String otherwise) {
    Object value = Objects.requireNonNullElse(made.get(key), otherwise);
    boolean listed = value instanceof String text && text.strip().startsWith("[");
    if (listed || value instanceof Collection || value instanceof Map) {
      throw wrong("takes [" + key + "] as a string, several with commas between, not " + value);
    }
    return String.valueOf(value);
  }

  /** A model's {@code input}, as JSON or in words; without it what the agent was asked. */
  private String text() {
    String asked = said.getOrDefault("text", said.getOrDefault("question", ""));
    String input = said.getOrDefault("input", "");
    String text = input.strip().startsWith("{") ? textOf(input, asked) : input;
    text = PLACEHOLDER.matcher(text.isBlank() ? asked : text).replaceAll(this::meant);
    if (text.isBlank()) {
      throw wrong("needs [text], which says in words what is wanted");
    }
    return text;
  }

  private String meant(MatchResult placeholder) {
    return Matcher.quoteReplacement(said.getOrDefault(placeholder.group(1), placeholder.group()));
  }

  private static String textOf(String input, String otherwise) {
    try {
      Object text =
          XContentHelper.convertToMap(JsonXContent.jsonXContent, input, false).get("text");
      return text instanceof String words ? words : otherwise;
    } catch (OpenSearchParseException e) {
      return input; // words that begin like JSON
    }
  }

  private int size() {
    String size = set("size", "5");
    if (!size.matches("[1-9]|[1-4][0-9]|50")) {
      throw wrong("takes a [size] of 1 to 50, not " + size);
    }
    return Integer.parseInt(size);
  }

  private static IllegalArgumentException wrong(String message) {
    return new IllegalArgumentException(KitpickSearchTool.TYPE + " " + message);
  }
}
