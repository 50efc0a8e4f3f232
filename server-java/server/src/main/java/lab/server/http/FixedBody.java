package lab.server.http;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import lab.server.api.BodyMemory;
import lab.storage.HeapFootprint;

/** A body whose length was announced. */
public final class FixedBody extends IncomingBody {

    private final int length;
    private byte[] bytes;
    private int received;

    /**
     * @param length announced length
     */
    FixedBody(int length) {
        this.length = length;
        if (length <= BodyMemory.UNCOUNTED_BYTES) {
            grantRoom();
        }
    }

    @Override
    public boolean needsRoom() {
        return bytes == null;
    }

    @Override
    public int wantedBytes() {
        return length;
    }

    @Override
    public long wantedHeapBytes() {
        return HeapFootprint.ofArray(length);
    }

    @Override
    public void grantRoom() {
        bytes = new byte[length];
    }

    @Override
    public int take(byte[] buffer, int at, int end) {
        int count = Math.min(length - received, end - at);
        System.arraycopy(buffer, at, bytes, received, count);
        received += count;
        return at + count;
    }

    /**
     * Reads into its place what the client has sent.
     *
     * @throws EOFException if the client has ended
     */
    public void readFrom(InputStream in) throws IOException {
        int count = in.read(bytes, received, length - received);
        if (count < 0) {
            throw new EOFException("The client has sent less than it announced.");
        }
        received += count;
    }

    @Override
    public boolean isComplete() {
        return received == length;
    }

    @Override
    public byte[] bytes() {
        return bytes;
    }
}
