package org.kitpick.opensearch.catalog;

import java.util.function.Supplier;
import org.kitpick.opensearch.rescore.NodeRuntime;
import org.opensearch.cluster.metadata.Metadata;
import org.opensearch.core.xcontent.NamedXContentRegistry;

/**
 * What searches of catalogs need of their node.
 *
 * @param node what every search of the plugin needs
 * @param metadata of the cluster as it is now: aliases and their filters
 * @param registry knows the queries of all plugins
 * @param nodeId of this node, for the searches that belong to a task of it
 */
public record CatalogRuntime(
    NodeRuntime node,
    Supplier<Metadata> metadata,
    NamedXContentRegistry registry,
    Supplier<String> nodeId) {}
