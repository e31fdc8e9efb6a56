package org.kitpick.opensearch.agents;

import java.io.IOException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import org.kitpick.opensearch.rescore.ReportExt;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.core.action.ActionListener;
import org.opensearch.ml.common.spi.tools.Tool;
import org.opensearch.ml.common.spi.tools.ToolAnnotation;
import org.opensearch.search.SearchHit;

/**
 * A tool of agents that finds tools: it searches a catalog with the {@code kitpick} query, as the
 * user who asks the agent.
 */
@ToolAnnotation(KitpickSearchTool.TYPE)
final class KitpickSearchTool implements Tool {

  static final String TYPE = "KitpickSearchTool";
  private static final String DESCRIPTION =
      "Finds the tools for what is to be done. Say in [text] in words what that is, one task at a"
          + " time.";
  private static final Map<String, Object> ATTRIBUTES =
      Map.of(
          "input_schema",
          """
          {"type":"object","properties":{"text":{"type":"string","description":\
          "what is to be done, in words"}},"required":["text"],"additionalProperties":false}""",
          "strict",
          false);

  private final BiConsumer<SearchRequest, ActionListener<SearchResponse>> search;
  private final Map<String, Object> made;
  private String name = TYPE;
  private String description = DESCRIPTION;
  private Map<String, Object> attributes = ATTRIBUTES;

  private KitpickSearchTool(
      BiConsumer<SearchRequest, ActionListener<SearchResponse>> search, Map<String, Object> made) {
    this.search = search;
    this.made = made;
  }

  @Override
  @SuppressWarnings("unchecked") // who runs a tool takes what it answers: here a text
  public <T> void run(Map<String, String> parameters, ActionListener<T> listener) {
    ActionListener<String> answered = (ActionListener<String>) listener;
    try {
      search.accept(
          new AgentQuestion(made, parameters).search(),
          ActionListener.wrap(
              response -> answered.onResponse(answer(response)), answered::onFailure));
    } catch (RuntimeException e) {
      answered.onFailure(e);
    }
  }

  /** What was found, in JSON, with what the agent has to know of how. */
  private static String answer(SearchResponse response) throws IOException {
    Map<String, Object> report = ReportExt.of(response);
    boolean abstained = Boolean.TRUE.equals(report.get("abstained"));
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put(
        "tools",
        abstained
            ? List.of()
            : Arrays.stream(response.getHits().getHits()).map(SearchHit::getSourceAsMap).toList());
    for (String told : List.of("abstained_because", "degraded")) {
      if (report.containsKey(told)) {
        answer.put(told, report.get(told));
      }
    }
    return JsonXContent.contentBuilder().map(answer).toString();
  }

  @Override
  public boolean validate(Map<String, String> parameters) {
    return true; // `run` says what is wrong
  }

  @Override
  public String getType() {
    return TYPE;
  }

  @Override
  public String getVersion() {
    return null;
  }

  @Override
  public String getName() {
    return name;
  }

  @Override
  public void setName(String name) {
    this.name = name;
  }

  @Override
  public String getDescription() {
    return description;
  }

  @Override
  public void setDescription(String description) {
    this.description = description;
  }

  @Override
  public Map<String, Object> getAttributes() {
    return attributes;
  }

  @Override
  public void setAttributes(Map<String, Object> attributes) {
    this.attributes = attributes;
  }

  /** Makes one for each run of an agent. */
  record Factory(BiConsumer<SearchRequest, ActionListener<SearchResponse>> search)
      implements Tool.Factory<KitpickSearchTool> {

    @Override
    public KitpickSearchTool create(Map<String, Object> parameters) {
      return new KitpickSearchTool(search, parameters);
    }

    @Override
    public String getDefaultDescription() {
      return DESCRIPTION;
    }

    @Override
    public String getDefaultType() {
      return TYPE;
    }

    @Override
    public String getDefaultVersion() {
      return null;
    }

    @Override
    public Map<String, Object> getDefaultAttributes() {
      return ATTRIBUTES;
    }
  }
}
