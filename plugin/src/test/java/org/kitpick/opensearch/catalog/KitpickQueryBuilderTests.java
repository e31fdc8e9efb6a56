package org.kitpick.opensearch.catalog;

import java.io.IOException;
import java.util.List;
import org.opensearch.common.io.stream.BytesStreamOutput;
import org.opensearch.common.settings.Settings;
import org.opensearch.common.xcontent.XContentHelper;
import org.opensearch.common.xcontent.json.JsonXContent;
import org.opensearch.core.common.ParsingException;
import org.opensearch.core.common.io.stream.NamedWriteableAwareStreamInput;
import org.opensearch.core.common.io.stream.NamedWriteableRegistry;
import org.opensearch.core.common.io.stream.StreamInput;
import org.opensearch.core.xcontent.NamedXContentRegistry;
import org.opensearch.core.xcontent.XContentParser;
import org.opensearch.index.query.AbstractQueryBuilder;
import org.opensearch.index.query.BoolQueryBuilder;
import org.opensearch.index.query.QueryBuilders;
import org.opensearch.plugins.SearchPlugin;
import org.opensearch.search.SearchModule;
import org.opensearch.test.OpenSearchTestCase;

/** What a {@code kitpick} query reads, writes and refuses. */
public class KitpickQueryBuilderTests extends OpenSearchTestCase {

  private static final SearchPlugin PLUGIN =
      new SearchPlugin() {
        @Override
        public List<QuerySpec<?>> getQueries() {
          return List.of(
              new QuerySpec<>(
                  KitpickQueryBuilder.NAME,
                  KitpickQueryBuilder::new,
                  KitpickQueryBuilder::fromXContent));
        }
      };
  private static final SearchModule MODULE = new SearchModule(Settings.EMPTY, List.of(PLUGIN));
  private static final String WHOLE =
      """
      {"kitpick": {"text": "copy a file", "filter": {"term": {"tenant": "acme"}},
        "tenant": "acme", "principals": ["ann", "bob"], "boost": 2.0, "_name": "mine"}}""";

  private static KitpickQueryBuilder parsed(String json) throws IOException {
    NamedXContentRegistry registry = new NamedXContentRegistry(MODULE.getNamedXContents());
    try (XContentParser parser = JsonXContent.jsonXContent.createParser(registry, null, json)) {
      return (KitpickQueryBuilder) AbstractQueryBuilder.parseInnerQueryBuilder(parser);
    }
  }

  public void testItReadsAllThatItWrites() throws IOException {
    KitpickQueryBuilder query = parsed(WHOLE);
    assertEquals("copy a file", query.text());
    assertEquals(QueryBuilders.termQuery("tenant", "acme"), query.condition());
    assertEquals("acme", query.tenant());
    assertEquals(List.of("ann", "bob"), query.principals());
    assertEquals(query, parsed(query.toString()));
  }

  public void testItTravelsBetweenNodes() throws IOException {
    KitpickQueryBuilder query = parsed(WHOLE);
    NamedWriteableRegistry registry = new NamedWriteableRegistry(MODULE.getNamedWriteables());
    try (BytesStreamOutput out = new BytesStreamOutput()) {
      query.writeTo(out);
      StreamInput bytes = out.bytes().streamInput();
      try (StreamInput in = new NamedWriteableAwareStreamInput(bytes, registry)) {
        assertEquals(query, new KitpickQueryBuilder(in));
      }
    }
  }

  public void testAListOfFiltersMustMatchAltogether() throws IOException {
    KitpickQueryBuilder query =
        parsed(
            """
            {"kitpick": {"text": "a", "filter": [{"term": {"a": 1}}, {"term": {"b": 2}}]}}""");
    assertEquals(
        QueryBuilders.boolQuery()
            .filter(QueryBuilders.termQuery("a", 1))
            .filter(QueryBuilders.termQuery("b", 2)),
        query.condition());
    assertNull(parsed("{\"kitpick\": {\"text\": \"a\", \"filter\": []}}").condition());
  }

  public void testWhatIsNoQueryIsRefused() {
    for (String body :
        List.of("{}", "{\"text\": \" \"}", "{\"text\": 1}", "{\"text\": \"a\", \"k\": 1}")) {
      expectThrows(ParsingException.class, () -> parsed("{\"kitpick\": " + body + "}"));
    }
  }

  public void testMorePrincipalsThanASearchMayNameAreNotRead() throws IOException {
    String body = "{\"kitpick\": {\"text\": \"a\", \"principals\": [%s\"p\"]}}";
    assertEquals(1_000, parsed(body.formatted("\"p\",".repeat(999))).principals().size());
    String more = body.formatted("\"p\",".repeat(1_000));
    String said = expectThrows(ParsingException.class, () -> parsed(more)).getMessage();
    assertTrue(said, said.contains("[principals] are 1000 at most"));
  }

  public void testAScoreIsAboveNoughtAndFinite() throws IOException {
    for (String boost : List.of("0", "-1", "1e-40", "1e39")) {
      String body = "{\"kitpick\": {\"text\": \"a\", \"boost\": %s}}".formatted(boost);
      String said = expectThrows(ParsingException.class, () -> parsed(body)).getMessage();
      assertTrue(said, said.contains("[boost] is the score of the first hit"));
    }
    assertEquals(0.1f, parsed("{\"kitpick\": {\"text\": \"a\", \"boost\": 0.1}}").boost(), 0f);
  }

  public void testInsideAnotherQueryItIsRefused() throws IOException {
    KitpickQueryBuilder query = parsed(WHOLE);
    assertTrue(
        expectThrows(
                IllegalArgumentException.class,
                () -> QueryBuilders.boolQuery().must(query).rewrite(null))
            .getMessage()
            .contains("the whole query"));
  }

  public void testWordsAloneHeedTheFilterAndWhoAsks() throws IOException {
    BoolQueryBuilder query = WordsQuery.of(parsed(WHOLE));
    String written = query.toString().replaceAll("\\s", "");
    assertTrue(written, written.contains("copyafile"));
    assertTrue(written, written.contains("\"allowed\":[\"ann\",\"bob\"]"));
    assertTrue(written, written.contains("\"tenant\":[\"\",\"acme\"]"));
    assertTrue(query.filter().contains(QueryBuilders.termQuery("tenant", "acme")));
    assertEquals("mine", query.queryName());
  }

  public void testAWordOfAnUnspacedScriptIsOneCharacter() throws IOException {
    String text = "写真".repeat(100);
    String query = WordsQuery.of(parsed("{\"kitpick\": {\"text\": \"" + text + "\"}}")).toString();
    assertTrue(query.contains("写 真 写"));
    assertTrue("at most 32 of them", query.length() < 2_000);
    assertNotNull(XContentHelper.convertToMap(JsonXContent.jsonXContent, query, false));
  }
}
