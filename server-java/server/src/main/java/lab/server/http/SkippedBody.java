package lab.server.http;

/** A body that is not wanted: it is read and thrown away, so that the client can finish and read the response. */
final class SkippedBody extends IncomingBody {

    private static final byte[] NOTHING = {};

    private long left;

    /**
     * @param length announced length
     */
    SkippedBody(long length) {
        left = length;
    }

    @Override
    public int take(byte[] buffer, int at, int end) {
        int count = (int) Math.min(left, end - at);
        left -= count;
        return at + count;
    }

    @Override
    public boolean isComplete() {
        return left == 0;
    }

    @Override
    public byte[] bytes() {
        return NOTHING;
    }
}
