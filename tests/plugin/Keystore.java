import java.lang.reflect.Method;
import java.nio.file.Path;
import org.opensearch.common.settings.KeyStoreWrapper;

/** Writes a node's keystore: {@code java -cp 'lib/*' Keystore.java CONFIG_FOLDER NAME VALUE …}. */
class Keystore {
  public static void main(String[] arguments) throws Exception {
    // not public before OpenSearch 3
    Method set = KeyStoreWrapper.class.getDeclaredMethod("setString", String.class, char[].class);
    set.setAccessible(true);
    try (KeyStoreWrapper keystore = KeyStoreWrapper.create()) {
      for (int i = 1; i < arguments.length; i += 2) {
        set.invoke(keystore, arguments[i], arguments[i + 1].toCharArray());
      }
      keystore.save(Path.of(arguments[0]), new char[0]);
    }
  }
}
