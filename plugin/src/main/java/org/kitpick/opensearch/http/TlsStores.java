package org.kitpick.opensearch.http;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;

/**
 * Whom the client trusts, and as whom it presents itself: PKCS12 or JKS files in the node's config
 * folder.
 *
 * @param truststore file of certificates; empty: what the JDK trusts
 * @param keystore file of the node's own certificate and key; empty: none is shown
 */
public record TlsStores(
    String truststore, String truststorePassword, String keystore, String keystorePassword) {

  /** None: the JDK decides. */
  public static final TlsStores NONE = new TlsStores("", "", "", "");

  /** Whether any file is named. */
  public boolean isEmpty() {
    return truststore.isEmpty() && keystore.isEmpty();
  }

  /**
   * What connections use; null where no file is named.
   *
   * @param config the node's config folder, which relative names are below
   * @throws IllegalArgumentException where a file cannot be used: the node does not start
   */
  public SSLContext context(Path config) {
    if (isEmpty()) {
      return null;
    }
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(keys(config), trusted(config), null);
      return context;
    } catch (GeneralSecurityException e) {
      throw new IllegalArgumentException("kitpick.tls: " + e.getMessage(), e);
    }
  }

  private TrustManager[] trusted(Path config) throws GeneralSecurityException {
    if (truststore.isEmpty()) {
      return null;
    }
    KeyStore store = read("kitpick.tls.truststore", config.resolve(truststore), truststorePassword);
    if (store.size() == 0) {
      throw new IllegalArgumentException("kitpick.tls.truststore: holds no certificate");
    }
    TrustManagerFactory factory =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    factory.init(store);
    return factory.getTrustManagers();
  }

  private KeyManager[] keys(Path config) throws GeneralSecurityException {
    if (keystore.isEmpty()) {
      return null;
    }
    KeyStore store = read("kitpick.tls.keystore", config.resolve(keystore), keystorePassword);
    KeyManagerFactory factory =
        KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    factory.init(store, keystorePassword.toCharArray());
    return factory.getKeyManagers();
  }

  private static KeyStore read(String setting, Path file, String password) {
    try {
      if (!Files.isRegularFile(file)) {
        throw new IllegalArgumentException(setting + ": there is no file " + file);
      }
      return KeyStore.getInstance(file.toFile(), password.toCharArray());
    } catch (IOException | GeneralSecurityException e) {
      throw new IllegalArgumentException(
          setting
              + ": "
              + file
              + " cannot be read; its password belongs into the keystore as "
              + setting
              + "_password: "
              + e.getMessage(),
          e);
    }
  }
}
