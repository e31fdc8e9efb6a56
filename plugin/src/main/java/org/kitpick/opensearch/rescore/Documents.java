package org.kitpick.opensearch.rescore;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.kitpick.opensearch.wire.Candidate;
import org.kitpick.opensearch.wire.Candidate.Place;
import org.opensearch.search.SearchHit;
import org.opensearch.transport.RemoteClusterAware;

/** The hits of one rescoring under the ids by which service and plugin speak of them. */
final class Documents {

  private final HitReader reader;
  private final Map<String, SearchHit> hits = new LinkedHashMap<>();
  private final Map<String, Integer> firstRanks = new LinkedHashMap<>();
  private final Set<List<String>> known = new HashSet<>();
  private final List<Candidate> window = new ArrayList<>();
  private final List<Candidate> fetched = new ArrayList<>();

  Documents(HitReader reader, List<SearchHit> firstStage) {
    this.reader = reader;
    for (SearchHit hit : firstStage) {
      int rank = window.size() + 1;
      String id = add(hit);
      firstRanks.put(id, rank);
      window.add(reader.read(hit, id, new Place(rank, hit.getScore())));
    }
  }

  private Documents(Documents other) {
    reader = other.reader;
    hits.putAll(other.hits);
    firstRanks.putAll(other.firstRanks);
    known.addAll(other.known);
    window.addAll(other.window);
    fetched.addAll(other.fetched);
  }

  /** These and those of {@code found} that are new, at most so many of them. */
  Documents with(List<SearchHit> found, int most) {
    Documents larger = new Documents(this);
    for (SearchHit hit : found) {
      boolean room = larger.fetched.size() < fetched.size() + most;
      if (room && !larger.known.contains(identity(hit))) {
        larger.fetched.add(reader.read(hit, larger.add(hit), null));
      }
    }
    return larger;
  }

  /** Whether all of these are among them. */
  boolean hold(List<SearchHit> found) {
    return found.stream().map(Documents::identity).allMatch(known::contains);
  }

  /** What the rescorer did not see of these documents, though it should, in words. */
  List<String> unread() {
    return reader.unread();
  }

  List<Candidate> window() {
    return window;
  }

  List<Candidate> fetched() {
    return fetched;
  }

  Set<String> ids() {
    return hits.keySet();
  }

  SearchHit hit(String id) {
    return hits.get(id);
  }

  /** Position from 1 in the first stage, null for what was fetched. */
  Integer firstRank(String id) {
    return firstRanks.get(id);
  }

  /** The same id may come from two indices, which is two documents. */
  private String add(SearchHit hit) {
    known.add(identity(hit));
    String id = hit.getId() == null ? "" : hit.getId();
    for (int n = 1; id.isEmpty() || hits.containsKey(id); n++) {
      id = index(hit) + "/" + hit.getId() + (n == 1 ? "" : "/" + n);
    }
    hits.put(id, hit);
    return id;
  }

  /** Tells a document from all others, wherever it was found. */
  static List<String> identity(SearchHit hit) {
    return List.of(String.valueOf(index(hit)), String.valueOf(hit.getId()));
  }

  /** The hit's index as the response calls it: another cluster's with the name of that. */
  static String index(SearchHit hit) {
    return hit.getIndex() == null
        ? null
        : RemoteClusterAware.buildRemoteIndexName(hit.getClusterAlias(), hit.getIndex());
  }
}
