package org.kitpick.opensearch.rescore;

import java.util.function.Supplier;
import org.opensearch.action.search.SearchRequest;
import org.opensearch.action.search.SearchResponse;
import org.opensearch.core.action.ActionListener;
import org.opensearch.search.pipeline.AbstractProcessor;
import org.opensearch.search.pipeline.PipelineProcessingContext;
import org.opensearch.search.pipeline.Processor;
import org.opensearch.search.pipeline.SearchResponseProcessor;

/**
 * Response processor {@code kitpick}: sends the window to the rescorer and answers in its order.
 * Whatever goes wrong, the first-stage order comes back within the deadline, unless the user
 * prefers an error.
 */
public final class RescoreProcessor extends AbstractProcessor implements SearchResponseProcessor {

  /** Name in a pipeline. */
  public static final String TYPE = "kitpick";

  private static final String DONE = "kitpick.done";

  private final Supplier<NodeRuntime> runtime;
  private final Config config;

  private RescoreProcessor(
      String tag,
      String description,
      boolean ignoreFailure,
      Supplier<NodeRuntime> runtime,
      Config config) {
    super(tag, description, ignoreFailure);
    this.runtime = runtime;
    this.config = config;
  }

  /** The runtime is there once the node has started; a pipeline may be parsed before. */
  public static Processor.Factory<SearchResponseProcessor> factory(Supplier<NodeRuntime> runtime) {
    return (factories, tag, description, ignoreFailure, config, context) ->
        new RescoreProcessor(
            tag, description, ignoreFailure, runtime, Config.read(TYPE, tag, config));
  }

  @Override
  public String getType() {
    return TYPE;
  }

  @Override
  public SearchResponse processResponse(SearchRequest request, SearchResponse response) {
    throw new UnsupportedOperationException(TYPE + " is asynchronous");
  }

  @Override
  public void processResponseAsync(
      SearchRequest request,
      SearchResponse response,
      PipelineProcessingContext context,
      ActionListener<SearchResponse> listener) {
    if (context.getAttribute(DONE) != null) {
      listener.onResponse(response); // a second one in a pipeline: hits have no texts any more
      return;
    }
    context.setAttribute(DONE, true);
    Page page = Page.in(context, request);
    new SearchRescore(runtime.get(), config, request, response, page).start(listener);
  }
}
