package missing;

import java.io.IOException;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

import org.apache.lucene.analysis.LowerCaseFilter;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.core.FlattenGraphFilter;
import org.apache.lucene.analysis.en.PorterStemFilter;
import org.apache.lucene.analysis.miscellaneous.ASCIIFoldingFilter;
import org.apache.lucene.analysis.miscellaneous.WordDelimiterGraphFilter;
import org.elasticsearch.Build;
import org.elasticsearch.client.internal.node.NodeClient;
import org.elasticsearch.cluster.node.DiscoveryNodes;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.features.NodeFeature;
import org.elasticsearch.index.IndexSettings;
import org.elasticsearch.index.analysis.TokenFilterFactory;
import org.elasticsearch.indices.analysis.AnalysisModule.AnalysisProvider;
import org.elasticsearch.plugins.ActionPlugin;
import org.elasticsearch.plugins.AnalysisPlugin;
import org.elasticsearch.plugins.Plugin;
import org.elasticsearch.rest.BaseRestHandler;
import org.elasticsearch.rest.RestHandler;
import org.elasticsearch.rest.RestRequest;
import org.elasticsearch.rest.RestResponse;
import org.elasticsearch.rest.RestStatus;
import org.elasticsearch.xcontent.XContentBuilder;

/** `GET /` and a few token filters of Lucene: pieces of modules that are not on Maven Central. */
public final class MissingModulesPlugin extends Plugin implements ActionPlugin, AnalysisPlugin {

    private static final int KEPT_AND_SPLIT = WordDelimiterGraphFilter.GENERATE_WORD_PARTS
        | WordDelimiterGraphFilter.GENERATE_NUMBER_PARTS
        | WordDelimiterGraphFilter.SPLIT_ON_CASE_CHANGE
        | WordDelimiterGraphFilter.SPLIT_ON_NUMERICS
        | WordDelimiterGraphFilter.PRESERVE_ORIGINAL;

    private static final Map<String, UnaryOperator<TokenStream>> FILTERS = Map.of(
        "lowercase", LowerCaseFilter::new,
        "asciifolding", ASCIIFoldingFilter::new,
        "porter_stem", PorterStemFilter::new,
        "flatten_graph", FlattenGraphFilter::new,
        "word_delimiter_graph", in -> new WordDelimiterGraphFilter(in, KEPT_AND_SPLIT, null)
    );

    @Override
    public Collection<RestHandler> getRestHandlers(
        RestHandlersServices services,
        Supplier<DiscoveryNodes> nodes,
        Predicate<NodeFeature> features
    ) {
        return List.of(new Root());
    }

    @Override
    public Map<String, AnalysisProvider<TokenFilterFactory>> getTokenFilters() {
        Map<String, AnalysisProvider<TokenFilterFactory>> providers = new HashMap<>();
        FILTERS.forEach((type, filter) -> providers.put(type, provider(filter)));
        return providers;
    }

    private static AnalysisProvider<TokenFilterFactory> provider(UnaryOperator<TokenStream> filter) {
        return (IndexSettings index, Environment environment, String name, Settings settings) -> new TokenFilterFactory() {
            @Override
            public String name() {
                return name;
            }

            @Override
            public TokenStream create(TokenStream in) {
                return filter.apply(in);
            }
        };
    }

    private static final class Root extends BaseRestHandler {
        @Override
        public String getName() {
            return "main_action";
        }

        @Override
        public List<Route> routes() {
            return List.of(new Route(RestRequest.Method.GET, "/"), new Route(RestRequest.Method.HEAD, "/"));
        }

        @Override
        protected RestChannelConsumer prepareRequest(RestRequest request, NodeClient client) {
            return channel -> channel.sendResponse(new RestResponse(RestStatus.OK, about(channel.newBuilder())));
        }

        private static XContentBuilder about(XContentBuilder builder) throws IOException {
            Build build = Build.current();
            builder.startObject().startObject("version");
            builder.field("number", build.qualifiedVersion());
            builder.field("build_flavor", build.flavor());
            builder.field("build_type", build.type().displayName());
            builder.field("build_hash", build.hash());
            builder.field("build_date", build.date());
            builder.field("build_snapshot", build.isSnapshot());
            builder.field("lucene_version", org.apache.lucene.util.Version.LATEST.toString());
            return builder.endObject().field("tagline", "You Know, for Search").endObject();
        }
    }
}
