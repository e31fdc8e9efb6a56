package org.kitpick.opensearch.rescore;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.kitpick.opensearch.wire.Candidate;
import org.kitpick.opensearch.wire.Candidate.Place;
import org.kitpick.opensearch.wire.Vectors;
import org.opensearch.common.document.DocumentField;
import org.opensearch.common.xcontent.support.XContentMapValues;
import org.opensearch.search.SearchHit;

/**
 * Turns a hit into what the rescorer sees. A field that is missing is an empty one. It remembers
 * which text fields no hit held, and how many texts were cut.
 */
final class HitReader {

  /** Far beyond what a cross-encoder reads: keeps one runaway document from filling the request. */
  private static final int MAX_TEXT = 20_000;

  /** For all documents of a call together: the heap belongs to the search engine. */
  private static final int MAX_CALL_TEXT = 2_000_000;

  private static final int MAX_NAME = 2_000;

  /** Of what an API needs, and of what it gives: the service takes no more. */
  private static final int MAX_THINGS = 100;

  private static final int MAX_THING = 400;
  private static final Set<String> EFFECTS = Set.of("unknown", "read", "write", "destructive");

  private final FieldNames names;
  private final int maxText;
  private final Predicate<SearchHit> comparable;
  private final Set<String> held = ConcurrentHashMap.newKeySet();
  private final AtomicInteger cut = new AtomicInteger();

  /**
   * For calls of at most so many documents. {@code comparable} says which hits' vectors are of the
   * search's model.
   */
  HitReader(FieldNames names, int documents, Predicate<SearchHit> comparable) {
    this.names = names;
    this.comparable = comparable;
    this.maxText = Math.min(MAX_TEXT, MAX_CALL_TEXT / Math.max(1, documents));
  }

  /** The candidate of a hit; {@code place} is null for one that was fetched. */
  Candidate read(SearchHit hit, String id, Place place) {
    Map<String, Object> source = hit.hasSource() ? hit.getSourceAsMap() : Map.of();
    String effect = text(hit, source, names.effect(), MAX_NAME);
    return new Candidate(
        id,
        text(hit, source, names.category(), MAX_NAME),
        text(hit, source, names.tool(), MAX_NAME),
        text(hit, source, names.api(), MAX_NAME),
        kept(allText(hit, source)),
        names.storedVector().isEmpty() || !comparable.test(hit)
            ? null
            : Vectors.encode(vector(hit, source)),
        place,
        "true".equals(text(hit, source, names.deprecated(), MAX_NAME)),
        EFFECTS.contains(effect) ? effect : null,
        things(hit, source, names.needs()),
        things(hit, source, names.gives()));
  }

  /** What was not read of the hits so far, though it should have been, in words. */
  List<String> unread() {
    List<String> unread = new ArrayList<>();
    // By position: the names are the operator's, and may be of fields that the caller's role hides.
    List<Integer> missing =
        IntStream.range(0, names.text().size())
            .filter(position -> !held.contains(names.text().get(position)))
            .boxed()
            .toList();
    if (!missing.isEmpty()) {
      unread.add("no hit holds text_fields" + missing + ", counted from 0");
    }
    if (cut.get() > 0) {
      unread.add(cut + " texts were cut after " + maxText + " characters");
    }
    return unread;
  }

  private String allText(SearchHit hit, Map<String, Object> source) {
    return names.text().stream()
        .map(field -> heldText(hit, source, field))
        .filter(text -> !text.isBlank())
        .collect(Collectors.joining("\n"));
  }

  /**
   * A character more than is kept, which may be two halves: so what is cut is known to be longer.
   */
  private String heldText(SearchHit hit, Map<String, Object> source, String field) {
    String text = text(hit, source, field, maxText + 2);
    if (!text.isBlank()) {
      held.add(field);
    }
    return text;
  }

  private String kept(String text) {
    if (text.length() > maxText) {
      cut.incrementAndGet();
    }
    return cut(text, maxText);
  }

  private static String text(SearchHit hit, Map<String, Object> source, String field, int limit) {
    List<String> texts = new ArrayList<>();
    for (Object value : values(hit, source, field)) {
      if (value != null && !(value instanceof Map<?, ?>)) {
        texts.add(value.toString());
      }
    }
    return cut(String.join(" ", texts), limit);
  }

  private static List<String> things(SearchHit hit, Map<String, Object> source, String field) {
    return values(hit, source, field).stream()
        .filter(String.class::isInstance)
        .map(String.class::cast)
        .filter(thing -> thing.length() <= MAX_THING)
        .limit(MAX_THINGS)
        .toList();
  }

  /** A list of numbers or base64; the fields API may wrap either into one more list. */
  private Object vector(SearchHit hit, Map<String, Object> source) {
    List<?> values = values(hit, source, names.storedVector());
    boolean wrapped =
        values.size() == 1 && (values.get(0) instanceof List<?> || values.get(0) instanceof String);
    return wrapped ? values.get(0) : values;
  }

  private static List<?> values(SearchHit hit, Map<String, Object> source, String field) {
    Object value = XContentMapValues.extractValue(field, source);
    if (value == null) {
      DocumentField fetched = hit.field(field);
      return fetched == null ? List.of() : fetched.getValues();
    }
    return value instanceof List<?> list ? list : List.of(value);
  }

  /** Never between the halves of a character outside the basic plane: half of one is no UTF-8. */
  private static String cut(String text, int limit) {
    if (text.length() <= limit) {
      return text;
    }
    int end = Character.isHighSurrogate(text.charAt(limit - 1)) ? limit - 1 : limit;
    return text.substring(0, end);
  }
}
