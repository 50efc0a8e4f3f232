package lab.jdk17;

import java.nio.charset.StandardCharsets;
import java.util.Map;

/** Forgets every write and has the same small value for every key: what is measured with it is not the store. */
final class NoopStore implements Store {

    private static final byte[] VALUE = "10000".getBytes(StandardCharsets.US_ASCII);

    @Override
    public byte[] get(byte[] key) {
        return VALUE;
    }

    @Override
    public void put(byte[] key, byte[] value) {
        // Forgotten on purpose.
    }

    @Override
    public void delete(byte[] key) {
        // There is nothing to delete.
    }

    @Override
    public Entries range(byte[] from, byte[] to) {
        return new MemoryStore().range(from, to);
    }

    @Override
    public long count() {
        return 0;
    }

    @Override
    public long diskBytes() {
        return 0;
    }

    @Override
    public Map<String, Object> settings() {
        return Map.of("value_bytes", VALUE.length);
    }

    @Override
    public void close() {
        // Holds nothing.
    }
}
