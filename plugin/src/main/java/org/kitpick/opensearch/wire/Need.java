package org.kitpick.opensearch.wire;

import java.util.List;

/**
 * Documents that would improve the answer.
 *
 * @param tools keys of the tools of which all APIs are wanted
 * @param vector the point whose neighbours are wanted; null for none
 */
public record Need(List<String> tools, float[] vector, int k) {

  /** Whether nothing is wanted. */
  public boolean isEmpty() {
    return tools.isEmpty() && vector == null;
  }
}
