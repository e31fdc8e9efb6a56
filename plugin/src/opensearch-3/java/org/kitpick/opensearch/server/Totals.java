package org.kitpick.opensearch.server;

import org.apache.lucene.search.TotalHits;

/** The parts of total hits, in the Lucene of OpenSearch 3. */
public final class Totals {

  private Totals() {}

  /** How many there are, at least. */
  public static long of(TotalHits total) {
    return total.value();
  }

  /** Whether there are no more than that. */
  public static boolean areAll(TotalHits total) {
    return total.relation() == TotalHits.Relation.EQUAL_TO;
  }
}
