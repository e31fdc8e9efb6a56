package org.kitpick.opensearch.wire;

/**
 * Where the first stage had a document.
 *
 * @param rank position from 1
 * @param score the first stage's score; NaN where it computed none
 */
public record Place(int rank, float score) {}
