package org.kitpick.opensearch.rescore;

import java.util.Map;
import org.opensearch.OpenSearchParseException;
import org.opensearch.ingest.ConfigurationUtils;

/**
 * What a pipeline says about its {@code kitpick} processor.
 *
 * @param maxFetched documents that one search may fetch because the service asks for them
 */
record Config(Options options, FieldNames names, int maxFetched) {

  private static final int MAX_FETCHED = 5_000;

  static Config read(String type, String tag, Map<String, Object> config) {
    int maxFetched = ConfigurationUtils.readIntProperty(type, tag, config, "max_fetched", 200);
    if (maxFetched < 1 || maxFetched > MAX_FETCHED) {
      throw new OpenSearchParseException("[max_fetched] is 1 to {}", MAX_FETCHED);
    }
    Options options = Options.read(type, tag, config);
    if (options.query() != null) {
      throw new OpenSearchParseException("[query] differs from request to request: use query_path");
    }
    return new Config(
        options.over(Options.DEFAULTS), FieldNames.read(type, tag, config), maxFetched);
  }
}
