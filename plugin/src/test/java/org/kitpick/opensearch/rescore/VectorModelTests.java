package org.kitpick.opensearch.rescore;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.opensearch.Version;
import org.opensearch.cluster.metadata.IndexMetadata;
import org.opensearch.cluster.metadata.Metadata;
import org.opensearch.core.index.Index;
import org.opensearch.core.index.shard.ShardId;
import org.opensearch.search.SearchHit;
import org.opensearch.search.SearchShardTarget;
import org.opensearch.test.OpenSearchTestCase;

/** Which model's vectors a search may compare. */
public class VectorModelTests extends OpenSearchTestCase {

  private static List<SearchHit> hits(String... indexes) {
    return Stream.of(indexes)
        .map(
            index -> {
              String[] name = index.split(":");
              ShardId shard = new ShardId(new Index(name[name.length - 1], "u"), 0);
              String cluster = name.length > 1 ? name[0] : null;
              SearchHit hit = new SearchHit(0);
              hit.shard(new SearchShardTarget("n", shard, cluster, null));
              return hit;
            })
        .toList();
  }

  private static VectorModel of(String said, String... indexes) {
    Map<String, String> models = new HashMap<>();
    models.put("a1", "A");
    models.put("a2", "A");
    models.put("b", "B");
    return VectorModel.of(said, hits(indexes), models::get);
  }

  public void testTheIndexSaysIt() {
    assertEquals(new VectorModel("A", null), of(null, "a1", "a2", "stranger"));
    assertEquals(new VectorModel(null, null), of(null, "stranger"));
    assertEquals(new VectorModel("A", null), of(null, "stranger", "a1"));
  }

  public void testWhatIsSaidMustAgree() {
    assertEquals(new VectorModel("A", null), of("A", "a1"));
    assertEquals(new VectorModel("C", null), of("C", "stranger"));
    VectorModel other = of("C", "a1");
    assertNull(other.name());
    assertEquals("vector_model is of C, the vectors of a1 are of A", other.conflict());
  }

  public void testTwoIndexesMustAgree() {
    assertEquals("a1 is of A, the vectors of b are of B", of(null, "a1", "b").conflict());
  }

  public void testOfAnotherClustersIndexNobodyKnowsIt() {
    assertEquals(new VectorModel("A", null), of(null, "a1", "far:b"));
    assertEquals(new VectorModel(null, null), of(null, "far:a1"));
  }

  public void testAnEmptyNameComparesNothing() {
    assertEquals(new VectorModel("", null), of("", "a1", "b"));
    assertTrue(of("", "a1").takes("B"));
  }

  public void testWhatIsFetchedLaterMustAgreeToo() {
    VectorModel model = of(null, "a1");
    assertTrue(model.takes("A"));
    assertTrue(model.takes(null));
    assertFalse(model.takes("B"));
  }

  public void testAMappingIsReadAgainWhenItChanges() throws Exception {
    Metadata[] now = {Metadata.builder().build()};
    VectorModels models = new VectorModels(() -> now[0]);
    assertNull(models.of("i"));
    assertNull(models.of(null));
    for (String model : List.of("A", "B")) {
      now[0] = metadata("{\"_meta\": {\"kitpick\": {\"vector_model\": \"" + model + "\"}}}");
      assertEquals(model, models.of("i"));
      assertEquals(model, models.of("i"));
    }
    for (String nothing : List.of("{}", "{\"_meta\": 1}", "{\"_meta\": {\"kitpick\": []}}")) {
      now[0] = metadata(nothing);
      assertNull(models.of("i"));
    }
  }

  private static Metadata metadata(String mapping) throws Exception {
    IndexMetadata.Builder index =
        IndexMetadata.builder("i")
            .settings(settings(Version.CURRENT))
            .numberOfShards(1)
            .numberOfReplicas(0)
            .putMapping(mapping);
    return Metadata.builder().put(index).build();
  }
}
