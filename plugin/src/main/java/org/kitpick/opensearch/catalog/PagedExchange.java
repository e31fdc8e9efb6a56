package org.kitpick.opensearch.catalog;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import org.kitpick.opensearch.guard.Rescorer;
import org.kitpick.opensearch.wire.RescoreAnswer;
import org.kitpick.opensearch.wire.RescoreAnswer.Hit;

/**
 * The ranking of a catalog search down to the end of the wanted page, such that pages of any size
 * fit together: whatever page is asked for, the list begins with the ranking for {@link #FIRST}
 * hits, and goes on with what rankings for more hits hold besides.
 *
 * <p>A ranking for more hits has a larger first stage, and so another order: pages that were cut
 * out of rankings of their own would repeat hits and miss others.
 */
final class PagedExchange {

  /** Up to here a ranking is as long as the page needs: the first stage is the same. */
  static final int FIRST = 50;

  /** How many times as many hits the next ranking is for. */
  private static final int GROWTH = 4;

  /** The first stage of a ranking for more hits would no longer grow. */
  private static final int MOST = 1_000;

  private final int end;
  private final IntFunction<SearchExchange> exchange;
  private final List<Map<String, Object>> unread = new ArrayList<>();
  private volatile SearchExchange first;
  private volatile SearchExchange last;

  /**
   * {@code end} hits are wanted; {@code exchange} begins a conversation for as many as it is told.
   */
  PagedExchange(int end, IntFunction<SearchExchange> exchange) {
    this.end = end;
    this.exchange = exchange;
  }

  /** Completes at the deadline at the latest, on any thread. */
  CompletableFuture<RescoreAnswer> run(Rescorer rescorer) {
    int hits = Math.min(end, FIRST);
    first = last = exchange.apply(hits);
    return first.run(rescorer).thenCompose(answer -> deeper(rescorer, answer, hits));
  }

  /**
   * The ids of the first stage, fused; empty where it was not read. Of use once the run is over.
   */
  List<String> firstStage() {
    return first == null ? List.of() : first.firstStage();
  }

  /** What the ranking was made without, as stage and reason. Of use once the run is over. */
  List<Map<String, Object>> missing() {
    List<Map<String, Object>> missing = new ArrayList<>(unread);
    Set<String> reasons = new HashSet<>(first.missing());
    reasons.addAll(last.missing());
    reasons.forEach(why -> missing.add(Map.of("stage", "first_stage", "reason", why)));
    return missing;
  }

  private CompletableFuture<RescoreAnswer> deeper(
      Rescorer rescorer, RescoreAnswer answer, int hits) {
    if (end <= FIRST || answer.results().size() >= end || hits >= MOST) {
      return CompletableFuture.completedFuture(answer);
    }
    int more = hits * GROWTH;
    last = exchange.apply(more);
    return last.run(rescorer)
        .handle((longer, failure) -> failure == null ? joined(answer, longer) : cut(answer))
        .thenCompose(
            joined ->
                joined.results().size() == answer.results().size()
                    ? CompletableFuture.completedFuture(joined)
                    : deeper(rescorer, joined, more));
  }

  /** The first answer, and behind its hits those that the longer one has besides. */
  private static RescoreAnswer joined(RescoreAnswer answer, RescoreAnswer longer) {
    Set<String> known = new HashSet<>();
    answer.results().forEach(hit -> known.add(hit.id()));
    List<Hit> all = new ArrayList<>(answer.results());
    longer.results().stream().filter(hit -> !known.contains(hit.id())).forEach(all::add);
    return new RescoreAnswer(
        answer.profile(),
        List.copyOf(all),
        answer.need(),
        answer.totalMillis() + longer.totalMillis(),
        answer.notes(),
        Stream.of(answer, longer).flatMap(each -> each.degraded().stream()).distinct().toList());
  }

  private RescoreAnswer cut(RescoreAnswer answer) {
    String reason = "behind place " + answer.results().size() + " nothing could be ranked in time";
    unread.add(Map.of("stage", "pages", "reason", reason));
    return answer;
  }
}
