package lab.server.onenio;

import java.util.Arrays;
import lab.server.api.BodyMemory;

/**
 * A body that comes in chunks, each after its size in hexadecimal digits (RFC 9112, section 7.1). Chunk extensions and
 * trailer fields are read over.
 *
 * <p>It stops to take bytes when it is malformed, when it is larger than the limit, and before it needs more memory than
 * it was granted.
 */
final class ChunkedBody implements IncomingBody {

    private static final int FIRST_BYTES = 1024;
    private static final int MAX_SIZE_LINE_BYTES = 4 * 1024;
    private static final int MAX_SIZE_DIGITS = 15;
    private static final int HEX = 16;

    private enum State { SIZE, EXTENSION, DATA, DATA_END, TRAILER, COMPLETE, MALFORMED, TOO_LARGE }

    private final int limitBytes;
    private final int maxTrailerBytes;
    private State state = State.SIZE;
    private byte[] bytes = new byte[FIRST_BYTES];
    private int length;
    private long chunkLeft;
    private int sizeDigits;
    private int lineBytes;
    private int trailerBytes;
    private int grantedBytes = BodyMemory.UNCOUNTED_BYTES;
    private boolean skips;
    private long skippedBytes;

    /**
     * @param limitBytes      larger bodies are not taken
     * @param maxTrailerBytes fields after the last chunk may have this many bytes
     */
    ChunkedBody(int limitBytes, int maxTrailerBytes) {
        this.limitBytes = limitBytes;
        this.maxTrailerBytes = maxTrailerBytes;
    }

    /** Whether it is not what the standard says; nothing that follows can be understood then. */
    boolean isMalformed() {
        return state == State.MALFORMED;
    }

    /** Whether it is larger than the limit. */
    boolean isTooLarge() {
        return state == State.TOO_LARGE;
    }

    /** Whether it waits for {@link #grantRoom()}. */
    boolean needsRoom() {
        return state == State.DATA && !skips && length + chunkLeft > grantedBytes;
    }

    /** How long the body may be with the room that it needs next: that of a small body, or that of the largest. */
    int wantedBytes() {
        return length + chunkLeft <= BodyMemory.SMALL_BYTES ? Math.min(BodyMemory.SMALL_BYTES, limitBytes) : limitBytes;
    }

    /** Lets it grow to {@link #wantedBytes()}. */
    void grantRoom() {
        grantedBytes = wantedBytes();
    }

    /** Goes on after it was too large, throwing away what it has and what comes. */
    void skipRest() {
        skips = true;
        bytes = new byte[0];
        state = State.DATA;
    }

    @Override
    public int take(byte[] buffer, int at, int end) {
        int next = at;
        while (next < end && state.compareTo(State.COMPLETE) < 0 && !needsRoom()) {
            if (state == State.DATA) {
                next = data(buffer, next, end);
            } else {
                control(buffer[next]);
                next++;
            }
        }
        return next;
    }

    private int data(byte[] buffer, int at, int end) {
        int count = (int) Math.min(chunkLeft, end - at);
        if (!skips) {
            if (length + count > bytes.length) {
                int doubled = Math.min(bytes.length * 2, Math.max(limitBytes, 1));
                bytes = Arrays.copyOf(bytes, Math.max(doubled, length + count));
            }
            System.arraycopy(buffer, at, bytes, length, count);
            length += count;
        } else {
            skippedBytes += count;
        }
        chunkLeft -= count;
        if (skippedBytes > ReceivingSession.MAX_SKIP_BYTES) {
            state = State.MALFORMED;
        } else if (chunkLeft == 0) {
            state = State.DATA_END;
        }
        return at + count;
    }

    private void control(byte b) {
        switch (state) {
            case SIZE, EXTENSION -> sizeLine(b);
            case DATA_END -> {
                if (b == '\n') {
                    state = State.SIZE;
                } else if (b != '\r') {
                    state = State.MALFORMED;
                }
            }
            default -> trailer(b);
        }
    }

    private void sizeLine(byte b) {
        int digit = state == State.SIZE ? Character.digit(b, HEX) : -1;
        if (b == '\n') {
            endOfSizeLine();
        } else if (++lineBytes > MAX_SIZE_LINE_BYTES || sizeDigits == 0 && digit < 0) {
            state = State.MALFORMED;
        } else if (digit >= 0) {
            chunkLeft = chunkLeft * HEX + digit;
            if (++sizeDigits > MAX_SIZE_DIGITS) {
                state = State.MALFORMED;
            }
        } else if (state == State.SIZE && b != ';' && b != ' ' && b != '\t' && b != '\r') {
            state = State.MALFORMED;
        } else {
            state = State.EXTENSION;
        }
    }

    private void endOfSizeLine() {
        if (sizeDigits == 0) {
            state = State.MALFORMED;
        } else if (chunkLeft == 0) {
            state = State.TRAILER;
        } else if (!skips && length + chunkLeft > limitBytes) {
            state = State.TOO_LARGE;
        } else {
            state = State.DATA;
        }
        sizeDigits = 0;
        lineBytes = 0;
    }

    private void trailer(byte b) {
        if (b == '\n') {
            if (lineBytes == 0) {
                state = State.COMPLETE;
            }
            lineBytes = 0;
        } else if (b != '\r') {
            lineBytes++;
            if (++trailerBytes > maxTrailerBytes) {
                state = State.MALFORMED;
            }
        }
    }

    @Override
    public boolean isComplete() {
        return state == State.COMPLETE;
    }

    @Override
    public byte[] bytes() {
        return bytes.length == length ? bytes : Arrays.copyOf(bytes, length);
    }
}
