import java.nio.file.Path;
import org.opensearch.common.settings.KeyStoreWrapper;

/** Writes a node's keystore: {@code java -cp 'lib/*' Keystore.java CONFIG_FOLDER NAME VALUE …}. */
class Keystore {
  public static void main(String[] arguments) throws Exception {
    try (KeyStoreWrapper keystore = KeyStoreWrapper.create()) {
      for (int i = 1; i < arguments.length; i += 2) {
        keystore.setString(arguments[i], arguments[i + 1].toCharArray());
      }
      keystore.save(Path.of(arguments[0]), new char[0]);
    }
  }
}
