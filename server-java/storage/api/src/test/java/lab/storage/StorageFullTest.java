package lab.storage;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileSystemException;
import org.junit.jupiter.api.Test;

/** A full disk is distinguished from a broken one by what the kernel said, however deep it lies. */
class StorageFullTest {

    @Test
    void noRoomAndAUsedUpQuotaAreKnownWhereverTheyWereSaid() {
        IOException full = new IOException("No space left on device");
        assertTrue(StorageFullException.isNamedBy(full));
        assertTrue(StorageFullException.isNamedBy(new UncheckedIOException(full)));
        assertTrue(StorageFullException.isNamedBy(new FileSystemException("a", null, "Disk quota exceeded")));
    }

    @Test
    void otherFailuresAreNoFullDisk() {
        assertFalse(StorageFullException.isNamedBy(new IOException("Input/output error")));
        assertFalse(StorageFullException.isNamedBy(new FileSystemException("a", null, "Permission denied")));
        assertFalse(StorageFullException.isNamedBy(new IOException()));
        // Somebody's message that quotes the kernel is no proof.
        assertFalse(StorageFullException.isNamedBy(new IllegalStateException("No space left on device")));
    }

    @Test
    void messageNamesTheThingTheCauseAndTheRemedy() {
        String message = StorageFullException.of("Cannot write a", new IOException("No space left on device")).getMessage();
        assertTrue(message.startsWith("Cannot write a: the disk is full (No space left on device)"), message);
        assertTrue(message.contains("Free space"), message);
    }
}
