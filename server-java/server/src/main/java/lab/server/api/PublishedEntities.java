package lab.server.api;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import lab.storage.Cursor;
import lab.storage.Storage;

/** The entries of one node that is alone, with one of the detours that the published servers took. */
public final class PublishedEntities implements Entities {

    private final Storage storage;
    private final Entities direct;
    private final boolean stringKeys;

    /**
     * @param storage not closed by this object
     * @param variant {@link AsPublished#STRING_KEYS} or {@link AsPublished#COPIED_VALUES}
     */
    public PublishedEntities(Storage storage, AsPublished variant) {
        this.storage = storage;
        this.direct = new LocalEntities(storage);
        this.stringKeys = variant == AsPublished.STRING_KEYS;
    }

    @Override
    public int nodes() {
        return direct.nodes();
    }

    @Override
    public int defaultFrom() {
        return direct.defaultFrom();
    }

    @Override
    public int defaultAck(int from) {
        return direct.defaultAck(from);
    }

    @Override
    public void get(Exchange exchange, byte[] key, int from, int ack) throws IOException {
        if (stringKeys) {
            direct.get(exchange, throughText(key), from, ack);
            return;
        }
        byte[] value = storage.get(MemorySegment.ofArray(key));
        if (value == null) {
            exchange.respond(Status.NOT_FOUND);
        } else {
            exchange.respondValue(MemorySegment.ofArray(value));
        }
    }

    @Override
    public void put(Exchange exchange, byte[] key, int from, int ack) throws IOException {
        if (stringKeys) {
            direct.put(exchange, throughText(key), from, ack);
            return;
        }
        byte[] value = exchange.body().toArray(ValueLayout.JAVA_BYTE);
        storage.put(MemorySegment.ofArray(key), MemorySegment.ofArray(value));
        exchange.respond(Status.CREATED);
    }

    @Override
    public void delete(Exchange exchange, byte[] key, int from, int ack) throws IOException {
        direct.delete(exchange, stringKeys ? throughText(key) : key, from, ack);
    }

    @Override
    public Cursor range(byte[] start, byte[] end) {
        return direct.range(start, end);
    }

    private static byte[] throughText(byte[] key) {
        return new String(key, StandardCharsets.UTF_8).getBytes(StandardCharsets.UTF_8);
    }
}
