package org.kitpick.opensearch.server;

import org.apache.lucene.search.TotalHits;

/** The number in total hits, in the Lucene of OpenSearch 3. */
public final class Totals {

  private Totals() {}

  /** How many there are, at least. */
  public static long of(TotalHits total) {
    return total.value();
  }
}
