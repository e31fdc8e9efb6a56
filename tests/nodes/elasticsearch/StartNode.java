import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginsLoader;

/**
 * Starts one node through Elasticsearch's public classes. The official main class also wants the entitlement agent
 * and arguments serialized by its own launcher, neither of which is published. Arguments: node settings, key=value.
 */
public final class StartNode {
    private StartNode() {}

    public static void main(String[] arguments) throws Exception {
        LogConfigurator.configureESLogging(); // first of all: the loader of x-content asks for the logger provider
        Environment environment = environment(arguments);
        LogConfigurator.registerErrorListener();
        LogConfigurator.setNodeName(environment.settings().get("node.name"));
        LogConfigurator.configure(environment, true);

        var modules = PluginsLoader.loadModulesBundles(environment.modulesDir(), false);
        var plugins = PluginsLoader.loadPluginsBundles(environment.pluginsDir(), false);
        Node node = new Node(environment, PluginsLoader.createPluginsLoader(modules, plugins, Map.of()));
        CountDownLatch closed = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> close(node, closed), "close-node"));
        node.start();
        closed.await();
    }

    private static Environment environment(String[] arguments) {
        Settings.Builder builder = Settings.builder();
        for (String argument : arguments) {
            int equals = argument.indexOf('=');
            builder.put(argument.substring(0, equals), argument.substring(equals + 1));
        }
        Settings settings = builder.build();
        Path config = Path.of(settings.get("path.home")).resolve("config");
        return InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), config, () -> "test");
    }

    private static void close(Node node, CountDownLatch closed) {
        try {
            node.prepareForClose();
            node.close();
            node.awaitClose(10, TimeUnit.SECONDS);
        } catch (Exception error) {
            error.printStackTrace();
        } finally {
            closed.countDown();
        }
    }
}
