package org.kitpick.opensearch;

import java.util.List;
import org.opensearch.common.settings.MockSecureSettings;
import org.opensearch.common.settings.Setting;
import org.opensearch.common.settings.Settings;
import org.opensearch.test.OpenSearchTestCase;

/** Where the service is, and its key, are the operator's to say: nobody else can name a place. */
public class NodeSettingsTests extends OpenSearchTestCase {

  public void testEndpoints() {
    for (String endpoint :
        List.of(
            "", "http://rescorer:8080", "https://rescorer.internal/below", "http://[::1]:8080")) {
      assertEquals(endpoint, NodeSettings.ENDPOINT.get(settings(endpoint)));
    }
  }

  public void testWhatIsNoEndpoint() {
    for (String endpoint :
        List.of(
            "rescorer:8080",
            "file:///etc/passwd",
            "ftp://rescorer",
            "http://",
            "http://user:password@rescorer",
            "http://rescorer/?to=elsewhere",
            "http://rescorer/#below",
            "http://rescorer:65536",
            "http://a b")) {
      expectThrows(
          IllegalArgumentException.class, () -> NodeSettings.ENDPOINT.get(settings(endpoint)));
    }
  }

  public void testWhoMayChangeTheClusterNamesNoPlaceAndNoKey() {
    List<Setting<?>> fixed = NodeSettings.all().stream().filter(each -> !each.isDynamic()).toList();
    assertEquals(
        List.of(
            NodeSettings.ENDPOINT,
            NodeSettings.KEY,
            NodeSettings.TRUSTSTORE,
            NodeSettings.TRUSTSTORE_PASSWORD,
            NodeSettings.KEYSTORE,
            NodeSettings.KEYSTORE_PASSWORD,
            NodeSettings.MAX_ANSWER),
        fixed);
    assertTrue(NodeSettings.all().stream().allMatch(Setting::hasNodeScope));
  }

  public void testADeadlineOfNothingFollowsTheRescorer() {
    assertEquals(0, NodeSettings.DEADLINE.get(Settings.EMPTY).millis());
    Settings set = Settings.builder().put("kitpick.deadline", "1s").build();
    assertEquals(1_000, NodeSettings.DEADLINE.get(set).millis());
    Settings negative = Settings.builder().put("kitpick.deadline", "-1").build();
    expectThrows(IllegalArgumentException.class, () -> NodeSettings.DEADLINE.get(negative));
  }

  public void testTheKeyIsReadFromTheKeystore() {
    MockSecureSettings keystore = new MockSecureSettings();
    keystore.setString("kitpick.key", "secret");
    Settings settings = Settings.builder().setSecureSettings(keystore).build();
    assertEquals("secret", NodeSettings.keyIn(settings));
    assertEquals("", NodeSettings.keyIn(Settings.EMPTY));
  }

  public void testAKeyThatNoHeaderTakesIsRefusedAndNotRepeated() {
    for (String key : List.of("secret\n", "sécret", "se\u0000cret")) {
      MockSecureSettings keystore = new MockSecureSettings();
      keystore.setString("kitpick.key", key);
      Settings settings = Settings.builder().setSecureSettings(keystore).build();
      Exception refused =
          expectThrows(IllegalArgumentException.class, () -> NodeSettings.keyIn(settings));
      assertTrue(refused.getMessage().startsWith("kitpick.key holds a line's end"));
      assertFalse(refused.getMessage().contains("cret"));
    }
  }

  public void testAKeyOutsideOfTheKeystoreIsRefused() {
    Settings open = Settings.builder().put("kitpick.key", "secret").build();
    expectThrows(IllegalArgumentException.class, () -> NodeSettings.keyIn(open));
  }

  public void testCertificatesNeedAnEndpointThatUsesThem() {
    Settings.Builder stores = Settings.builder().put("kitpick.tls.truststore", "ca.p12");
    Settings plain = stores.put("kitpick.endpoint", "http://rescorer:8080").build();
    expectThrows(IllegalArgumentException.class, () -> NodeSettings.tlsIn(plain));
    Settings secure = stores.put("kitpick.endpoint", "https://rescorer:8080").build();
    assertEquals("ca.p12", NodeSettings.tlsIn(secure).truststore());
    assertTrue(NodeSettings.tlsIn(Settings.EMPTY).isEmpty());
  }

  private static Settings settings(String endpoint) {
    return Settings.builder().put("kitpick.endpoint", endpoint).build();
  }
}
