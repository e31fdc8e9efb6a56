package org.kitpick.opensearch.rescore;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.opensearch.cluster.metadata.IndexMetadata;
import org.opensearch.cluster.metadata.MappingMetadata;
import org.opensearch.cluster.metadata.Metadata;

/**
 * The models that made the vectors of this cluster's indexes, as kitpick's ingestion wrote them
 * into the mappings: {@code _meta.kitpick.vector_model}.
 */
public final class VectorModels {

  /** Indexes that are remembered: reading a mapping takes longer than the rest of a search. */
  private static final int MOST = 1_000;

  /** Equal mappings say the same: a mapping that changes is another object. */
  private record Known(MappingMetadata mapping, String model) {}

  private final Supplier<Metadata> metadata;
  private final Map<String, Known> known = new ConcurrentHashMap<>();

  /** {@code metadata} is that of the cluster as it is now. */
  public VectorModels(Supplier<Metadata> metadata) {
    this.metadata = metadata;
  }

  /** The model of an index; null where nobody wrote it down, or the index is another cluster's. */
  String of(String index) {
    IndexMetadata found = index == null ? null : metadata.get().index(index);
    if (found == null || found.mapping() == null) {
      return null;
    }
    Known before = known.get(index);
    if (before == null || before.mapping() != found.mapping()) {
      if (known.size() >= MOST) {
        known.clear();
      }
      before = new Known(found.mapping(), modelIn(found.mapping().sourceAsMap()));
      known.put(index, before);
    }
    return before.model();
  }

  private static String modelIn(Map<String, Object> mapping) {
    return mapping.get("_meta") instanceof Map<?, ?> meta
            && meta.get("kitpick") instanceof Map<?, ?> ours
            && ours.get("vector_model") instanceof String model
        ? model
        : null;
  }
}
