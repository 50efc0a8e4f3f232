package lab.server.http;

import lab.server.api.Exchange;

/** The body of a request while it is being received. */
public abstract class IncomingBody {

    /** A body that is not wanted is read up to here, so that the client can read the response. */
    static final long MAX_SKIP_BYTES = 1L << 30;

    /** What the body of a request is read into; null if none is to be read. One that is too large has it rejected. */
    public static IncomingBody of(ReceivedRequest request, Limits limits) {
        long length = request.contentLength;
        if (request.rejection() != null || !request.chunked && length <= 0) {
            return null;
        } else if (request.chunked) {
            return new ChunkedBody(limits.bodyBytes(), limits.headBytes());
        } else if (length <= limits.bodyBytes() + (request.internal ? Exchange.INTERNAL_EXTRA_BYTES : 0)) {
            return new FixedBody((int) length);
        }
        request.rejectBody(limits);
        if (length <= MAX_SKIP_BYTES && !request.expectsContinue) {
            return new SkippedBody(length);
        }
        // The client would send for too long; or it has not sent its body and may send it or not.
        request.endConnection();
        return null;
    }

    /**
     * Takes bytes as long as they belong to the body and there is room for them.
     *
     * @param buffer bytes from the connection
     * @param at     position of the first
     * @param end    position after the last
     * @return position after the last one taken
     */
    public abstract int take(byte[] buffer, int at, int end);

    /** Whether the last byte of it was taken. */
    public abstract boolean isComplete();

    /** What was received, if it is complete and was kept. */
    public abstract byte[] bytes();

    /** Whether it is not what the standard says; nothing that follows can be understood then. */
    public boolean isMalformed() {
        return false;
    }

    /** Whether it is larger than the limit, which its head did not say. */
    public boolean isTooLarge() {
        return false;
    }

    /** Goes on after it was too large, throwing away what it has and what comes. */
    public void skipRest() {
        throw new IllegalStateException("Only a body of unknown length turns out to be too large.");
    }

    /** Whether it waits for {@link #grantRoom()}. */
    public boolean needsRoom() {
        return false;
    }

    /** How long the body may be with the room that it needs next. */
    public int wantedBytes() {
        return 0;
    }

    /** Heap that it needs for that. */
    public long wantedHeapBytes() {
        return 0;
    }

    /** Lets it grow to {@link #wantedBytes()}. */
    public void grantRoom() {
        // Needs none.
    }
}
