package org.kitpick.opensearch.rescore;

import java.util.List;
import java.util.Map;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import org.kitpick.opensearch.dsl.Dsl;
import org.kitpick.opensearch.guard.RescoreFailure;
import org.opensearch.OpenSearchParseException;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.ingest.ConfigurationUtils;
import org.opensearch.search.builder.SearchSourceBuilder;
import org.opensearch.search.pipeline.AbstractProcessor;
import org.opensearch.search.pipeline.PipelineProcessingContext;
import org.opensearch.search.pipeline.Processor;
import org.opensearch.search.pipeline.SearchRequestProcessor;

/**
 * Request processor {@code kitpick_window}: the user writes {@code size: 5}, the search brings the
 * whole window, and the response processor cuts the page out of it.
 */
public final class WindowProcessor extends AbstractProcessor implements SearchRequestProcessor {

  /** Name in a pipeline. */
  public static final String TYPE = "kitpick_window";

  private final int window;
  private final List<String> fields;
  private final Supplier<RescoreFailure> away;
  private final IntSupplier maxWindow;

  private WindowProcessor(
      String tag,
      String description,
      boolean ignoreFailure,
      int window,
      List<String> fields,
      Supplier<RescoreFailure> away,
      IntSupplier maxWindow) {
    super(tag, description, ignoreFailure);
    this.away = away;
    this.maxWindow = maxWindow;
    this.window = window;
    this.fields = fields;
  }

  /**
   * Makes it from {@code window} and {@code fields}: what the rescorer reads of a hit.
   *
   * @param away why a search could not be ranked now, null where it could: a window that nobody
   *     reads is not worth its cost; asked once a search
   * @param maxWindow the operator's limit, whatever pipelines and requests say
   */
  public static Processor.Factory<SearchRequestProcessor> factory(
      Supplier<RescoreFailure> away, IntSupplier maxWindow) {
    return (factories, tag, description, ignoreFailure, config, context) -> {
      int window = ConfigurationUtils.readIntProperty(TYPE, tag, config, "window", 50);
      if (window < 1 || window > Options.MAX_WINDOW) {
        throw new OpenSearchParseException("[window] is 1 to {}", Options.MAX_WINDOW);
      }
      List<String> fields = FieldNames.names(TYPE, tag, config, "fields", List.of());
      return new WindowProcessor(tag, description, ignoreFailure, window, fields, away, maxWindow);
    };
  }

  @Override
  public String getType() {
    return TYPE;
  }

  @Override
  public SearchRequest processRequest(SearchRequest request) {
    throw new UnsupportedOperationException(TYPE + " needs the pipeline's context");
  }

  @Override
  public SearchRequest processRequest(SearchRequest request, PipelineProcessingContext context) {
    if (request.source() == null) {
      request.source(new SearchSourceBuilder());
    }
    SearchSourceBuilder source = request.source();
    if (Page.in(context, request).widened()) {
      return request; // a second one in a pipeline would take the window for the page
    }
    Page asked = Page.of(request);
    Options said = RequestExt.optionsOf(request);
    int whole = said.window() == null ? window : said.window();
    int wanted = Math.min(whole, maxWindow.getAsInt());
    Map<String, Object> query = Dsl.asMap(source.query());
    boolean read =
        SkipReason.of(request, asked) == null && !isOutOfReach(asked, wanted, said.rounds());
    RescoreFailure failure = read ? away.get() : null;
    boolean widened = read && failure == null;
    if (widened) {
      source.from(0).size(Math.max(wanted, (int) asked.end()));
    }
    SourceView shown = widened ? SourceView.widen(source, fields) : SourceView.WHOLE;
    new Page(asked.from(), asked.size(), whole, widened, failure, shown, query, request)
        .leaveIn(context);
    return request;
  }

  /**
   * Behind the window the hits move down by as many as were fetched and put before them. How many
   * that are is known only by rescoring the window again; too far behind it is not worth its cost.
   */
  private static boolean isOutOfReach(Page asked, int wanted, Integer rounds) {
    boolean far = asked.end() > Options.MAX_WINDOW;
    return asked.end() > Integer.MAX_VALUE
        || (asked.from() >= wanted && (far || Integer.valueOf(0).equals(rounds)));
  }
}
