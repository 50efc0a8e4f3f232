package lab.server;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/**
 * What the build knew.
 *
 * @param hash         commit that was built, or {@code unknown}
 * @param oneNioVersion version of the HTTP library
 */
record Build(String hash, String oneNioVersion) {

    static Build read() {
        Properties properties = new Properties();
        try (InputStream in = Build.class.getResourceAsStream("build.properties")) {
            properties.load(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new Build(properties.getProperty("build.hash"), properties.getProperty("one-nio.version"));
    }
}
