package lab.server.http;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;

/** A body whose length was announced. */
public final class FixedBody implements IncomingBody {

    private final byte[] bytes;
    private int received;

    /**
     * @param length announced length
     */
    public FixedBody(int length) {
        bytes = new byte[length];
    }

    @Override
    public int take(byte[] buffer, int at, int end) {
        int count = Math.min(bytes.length - received, end - at);
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
        int count = in.read(bytes, received, bytes.length - received);
        if (count < 0) {
            throw new EOFException("The client has sent less than it announced.");
        }
        received += count;
    }

    @Override
    public boolean isComplete() {
        return received == bytes.length;
    }

    @Override
    public byte[] bytes() {
        return bytes;
    }
}
