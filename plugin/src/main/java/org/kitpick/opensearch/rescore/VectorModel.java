package org.kitpick.opensearch.rescore;

import java.util.List;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.opensearch.search.SearchHit;

/**
 * The model behind the vectors of one search.
 *
 * @param name as request or pipeline say, else that of the hits' index; null where nobody says it
 * @param conflict why vectors are left out; null where those that are there belong together
 */
record VectorModel(String name, String conflict) {

  /**
   * The model of a search over the indexes of these hits. An empty {@code said} compares nothing.
   *
   * @param said by request or pipeline; null for nothing
   * @param modelOf an index, null where nobody wrote it down
   */
  static VectorModel of(String said, List<SearchHit> hits, UnaryOperator<String> modelOf) {
    if (said != null && said.isEmpty()) {
      return new VectorModel("", null);
    }
    String name = said;
    String from = "vector_model";
    for (String index : hits.stream().map(Documents::index).distinct().toList()) {
      String model = index == null ? null : modelOf.apply(index);
      if (name == null) {
        name = model;
        from = index;
      } else if (model != null && !model.equals(name)) {
        return new VectorModel(
            null, from + " is of " + name + ", the vectors of " + index + " are of " + model);
      }
    }
    return new VectorModel(name, null);
  }

  /** Whether a vector from an index of this model may stand beside the others. */
  boolean takes(String model) {
    return name == null || name.isEmpty() || model == null || Objects.equals(name, model);
  }
}
