package org.kitpick.opensearch;

import java.net.URI;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.kitpick.opensearch.http.TlsStores;
import org.opensearch.common.settings.SecureSetting;
import org.opensearch.common.settings.Setting;
import org.opensearch.common.settings.Setting.Property;
import org.opensearch.common.settings.Settings;
import org.opensearch.common.unit.TimeValue;
import org.opensearch.core.common.settings.SecureString;
import org.opensearch.core.common.unit.ByteSizeUnit;
import org.opensearch.core.common.unit.ByteSizeValue;

/**
 * What an operator sets in {@code opensearch.yml} and the keystore. The endpoint and the key can be
 * set nowhere else: who may search, or change pipelines, must not be able to send documents to a
 * place of their choice.
 */
public final class NodeSettings {

  /**
   * Base address of the rescorer, e.g. {@code https://rescorer.internal:8080}; empty: there is
   * none.
   */
  public static final Setting<String> ENDPOINT =
      Setting.simpleString("kitpick.endpoint", "", NodeSettings::checkEndpoint, Property.NodeScope);

  /**
   * API key of the rescorer, in the keystore; {@code POST _nodes/reload_secure_settings} renews it.
   */
  public static final Setting<SecureString> KEY = SecureSetting.secureString("kitpick.key", null);

  /** Certificates that the client trusts, a PKCS12 or JKS file below the config folder. */
  public static final Setting<String> TRUSTSTORE =
      Setting.simpleString("kitpick.tls.truststore", Property.NodeScope);

  /** Its password, in the keystore. */
  public static final Setting<SecureString> TRUSTSTORE_PASSWORD =
      SecureSetting.secureString("kitpick.tls.truststore_password", null);

  /** Certificate and key that the client shows, likewise. */
  public static final Setting<String> KEYSTORE =
      Setting.simpleString("kitpick.tls.keystore", Property.NodeScope);

  /** Its password, in the keystore. */
  public static final Setting<SecureString> KEYSTORE_PASSWORD =
      SecureSetting.secureString("kitpick.tls.keystore_password", null);

  /** The longest that rescoring may hold up a search; 0: what the rescorer's machine needs. */
  public static final Setting<TimeValue> DEADLINE =
      Setting.timeSetting(
          "kitpick.deadline",
          TimeValue.ZERO,
          TimeValue.ZERO,
          TimeValue.timeValueMinutes(10),
          Property.NodeScope,
          Property.Dynamic);

  /** Searches that this node rescores at the same time; more come back in first-stage order. */
  public static final Setting<Integer> MAX_CONCURRENT =
      Setting.intSetting(
          "kitpick.max_concurrent", 64, 1, 10_000, Property.NodeScope, Property.Dynamic);

  /** The most hits of a search that are rescored, whatever pipelines and requests say. */
  public static final Setting<Integer> MAX_WINDOW =
      Setting.intSetting(
          "kitpick.max_window", 1_000, 1, 1_000, Property.NodeScope, Property.Dynamic);

  /** The largest answer that is read. */
  public static final Setting<ByteSizeValue> MAX_ANSWER =
      Setting.byteSizeSetting(
          "kitpick.max_answer_size",
          new ByteSizeValue(8, ByteSizeUnit.MB),
          new ByteSizeValue(1, ByteSizeUnit.KB),
          new ByteSizeValue(1, ByteSizeUnit.GB),
          Property.NodeScope);

  /** Failures in a row after which the service is left alone. */
  public static final Setting<Integer> BREAKER_FAILURES =
      Setting.intSetting(
          "kitpick.breaker.failures", 5, 1, 10_000, Property.NodeScope, Property.Dynamic);

  /** For how long. */
  public static final Setting<TimeValue> BREAKER_PAUSE =
      Setting.positiveTimeSetting(
          "kitpick.breaker.pause",
          TimeValue.timeValueSeconds(10),
          Property.NodeScope,
          Property.Dynamic);

  /** Switches rescoring off and on in the whole cluster, while it runs. */
  public static final Setting<Boolean> ENABLED =
      Setting.boolSetting("kitpick.enabled", true, Property.NodeScope, Property.Dynamic);

  private static final int MAX_PORT = 65_535;

  private NodeSettings() {}

  /** All of them, for registration. */
  public static List<Setting<?>> all() {
    return List.of(
        ENDPOINT,
        KEY,
        TRUSTSTORE,
        TRUSTSTORE_PASSWORD,
        KEYSTORE,
        KEYSTORE_PASSWORD,
        DEADLINE,
        MAX_CONCURRENT,
        MAX_WINDOW,
        MAX_ANSWER,
        BREAKER_FAILURES,
        BREAKER_PAUSE,
        ENABLED);
  }

  /**
   * The key, empty where the keystore has none. Only to be called while secure settings are open.
   *
   * @throws IllegalArgumentException where it could not be sent
   */
  public static String keyIn(Settings settings) {
    String key = secret(KEY, settings);
    if (!key.chars().allMatch(each -> each >= ' ' && each <= '~')) {
      throw new IllegalArgumentException(
          "kitpick.key holds a line's end or a character beyond ASCII, which no HTTP header takes:"
              + " put it into the keystore again");
    }
    return key;
  }

  /**
   * The files of certificates, with their passwords. Only to be called while secure settings are
   * open.
   *
   * @throws IllegalArgumentException where they would protect nothing
   */
  public static TlsStores tlsIn(Settings settings) {
    TlsStores stores =
        new TlsStores(
            TRUSTSTORE.get(settings),
            secret(TRUSTSTORE_PASSWORD, settings),
            KEYSTORE.get(settings),
            secret(KEYSTORE_PASSWORD, settings));
    if (!stores.isEmpty() && ENDPOINT.get(settings).startsWith("http:")) {
      throw new IllegalArgumentException(
          "kitpick.tls: kitpick.endpoint is http://, which uses no certificate: make it https://");
    }
    return stores;
  }

  private static String secret(Setting<SecureString> setting, Settings settings) {
    try (SecureString secret = setting.get(settings)) {
      return secret.toString();
    }
  }

  private static void checkEndpoint(String value) {
    if (value.isEmpty()) {
      return;
    }
    URI uri = URI.create(value);
    boolean http = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
    boolean more =
        Stream.of(uri.getRawUserInfo(), uri.getRawQuery(), uri.getRawFragment())
            .anyMatch(Objects::nonNull);
    if (!http || uri.getHost() == null || uri.getPort() > MAX_PORT || more) {
      throw new IllegalArgumentException(
          "kitpick.endpoint is http(s)://HOST[:PORT][/PATH], without user, password, query or #;"
              + " the key belongs into the keystore as kitpick.key");
    }
  }
}
