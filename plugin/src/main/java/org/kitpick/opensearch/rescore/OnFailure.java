package org.kitpick.opensearch.rescore;

/** What a search answers when it could not be rescored. */
public enum OnFailure {
  /** The first-stage order, and the ext says so. */
  ORIGINAL,
  /** An error. */
  FAIL
}
