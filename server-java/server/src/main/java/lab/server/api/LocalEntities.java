package lab.server.api;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import lab.storage.Cursor;
import lab.storage.Storage;
import lab.storage.ValueReader;

/** The entries of one node that is alone. */
public final class LocalEntities implements Entities {

    private final Storage storage;

    /**
     * @param storage not closed by this object
     */
    public LocalEntities(Storage storage) {
        this.storage = storage;
    }

    @Override
    public void get(Exchange exchange, byte[] key, int from, int ack) throws IOException {
        ValueResponse response = new ValueResponse(exchange);
        if (!storage.get(MemorySegment.ofArray(key), response)) {
            exchange.respond(Status.NOT_FOUND);
        } else if (response.large) {
            ValueBody.respond(exchange, range(key, Arrays.copyOf(key, key.length + 1)));
        }
    }

    @Override
    public void put(Exchange exchange, byte[] key, int from, int ack) throws IOException {
        storage.put(MemorySegment.ofArray(key), exchange.body());
        exchange.respond(Status.CREATED);
    }

    @Override
    public void delete(Exchange exchange, byte[] key, int from, int ack) throws IOException {
        storage.delete(MemorySegment.ofArray(key));
        exchange.respond(Status.ACCEPTED);
    }

    @Override
    public Cursor range(byte[] start, byte[] end) {
        return storage.range(MemorySegment.ofArray(start), end == null ? null : MemorySegment.ofArray(end));
    }

    /** Responds with a small value on the spot, while it is pinned. */
    private static final class ValueResponse implements ValueReader<IOException> {

        private final Exchange exchange;
        private boolean large;

        ValueResponse(Exchange exchange) {
            this.exchange = exchange;
        }

        @Override
        public void accept(MemorySegment value) throws IOException {
            if (value.byteSize() > ValueBody.STREAM_ABOVE_BYTES) {
                large = true;
            } else {
                exchange.respondValue(value);
            }
        }
    }
}
