package lab.jdk17;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Every class runs on JDK 17. */
class ClassVersionTest {

    private static final int MAGIC = 0xcafebabe;
    private static final int VERSION_OF_JDK_17 = 61;

    @Test
    void classFilesAreOfVersion17() throws IOException {
        List<Path> classes;
        try (Stream<Path> files = Files.walk(Path.of("target", "classes"))) {
            classes = files.filter(file -> file.toString().endsWith(".class")).toList();
        }
        assertTrue(classes.size() > 10, classes.toString());
        for (Path file : classes) {
            try (DataInputStream in = new DataInputStream(Files.newInputStream(file))) {
                assertEquals(MAGIC, in.readInt());
                in.readUnsignedShort();
                assertEquals(VERSION_OF_JDK_17, in.readUnsignedShort(), file.toString());
            }
        }
    }
}
