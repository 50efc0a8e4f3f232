package lab.server.onenio;

/** A body whose length was announced. */
final class FixedBody implements IncomingBody {

    private final byte[] bytes;
    private int received;

    /**
     * @param length announced length
     */
    FixedBody(int length) {
        bytes = new byte[length];
    }

    @Override
    public int take(byte[] buffer, int at, int end) {
        int count = Math.min(bytes.length - received, end - at);
        System.arraycopy(buffer, at, bytes, received, count);
        received += count;
        return at + count;
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
