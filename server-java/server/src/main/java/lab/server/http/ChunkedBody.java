package lab.server.http;

import java.util.Arrays;
import lab.server.api.BodyMemory;
import lab.storage.HeapFootprint;

/**
 * A body that comes in chunks, each after its size in hexadecimal digits (RFC 9112, section 7.1). Chunk extensions and
 * trailer fields are read over, as long as they are well formed.
 *
 * <p>It stops to take bytes when it is malformed, when it is larger than the limit, and before it needs more memory than
 * it was granted.
 */
final class ChunkedBody extends IncomingBody {

    private static final int FIRST_BYTES = 1024;
    private static final int MAX_SIZE_DIGITS = 15;
    private static final int HEX = 16;

    private enum State {
        SIZE, EXTENSION, DATA, DATA_END, TRAILER_NAME, TRAILER_VALUE, COMPLETE, MALFORMED, TOO_LARGE
    }

    private final int limitBytes;
    private final int maxExtraBytes;
    private State state = State.SIZE;
    private byte[] bytes = new byte[FIRST_BYTES];
    private int length;
    private long chunkLeft;
    private int sizeDigits;
    private int nameBytes;
    private int extraBytes;
    /** Whether the last byte of a line was a carriage return, so that a line feed must follow. */
    private boolean returned;
    private int grantedBytes = BodyMemory.UNCOUNTED_BYTES;
    private boolean skips;
    private long skippedBytes;

    /**
     * @param limitBytes    larger bodies are not taken
     * @param maxExtraBytes chunk extensions and the fields after the last chunk may have this many bytes in all
     */
    ChunkedBody(int limitBytes, int maxExtraBytes) {
        this.limitBytes = limitBytes;
        this.maxExtraBytes = maxExtraBytes;
    }

    @Override
    public boolean isMalformed() {
        return state == State.MALFORMED;
    }

    @Override
    public boolean isTooLarge() {
        return state == State.TOO_LARGE;
    }

    @Override
    public void skipRest() {
        skips = true;
        bytes = new byte[0];
        state = State.DATA;
    }

    @Override
    public boolean needsRoom() {
        return state == State.DATA && !skips && length + chunkLeft > grantedBytes;
    }

    /** That of a small body, or that of the largest. */
    @Override
    public int wantedBytes() {
        return length + chunkLeft <= BodyMemory.SMALL_BYTES ? Math.min(BodyMemory.SMALL_BYTES, limitBytes) : limitBytes;
    }

    /** It is copied while it grows. */
    @Override
    public long wantedHeapBytes() {
        return 2 * HeapFootprint.ofArray(wantedBytes());
    }

    @Override
    public void grantRoom() {
        grantedBytes = wantedBytes();
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
        if (skippedBytes > MAX_SKIP_BYTES) {
            state = State.MALFORMED;
        } else if (chunkLeft == 0) {
            state = State.DATA_END;
        }
        return at + count;
    }

    private void control(byte b) {
        if (returned) {
            returned = false;
            if (b == '\n') {
                endOfLine();
            } else {
                state = State.MALFORMED;
            }
        } else if (b == '\r') {
            returned = true;
        } else {
            switch (state) {
                case SIZE -> size(b);
                case EXTENSION, TRAILER_VALUE -> extra(Bytes.isText(b));
                case TRAILER_NAME -> name(b);
                default -> state = State.MALFORMED;
            }
        }
    }

    private void size(byte b) {
        int digit = Character.digit(b, HEX);
        if (digit >= 0 && sizeDigits < MAX_SIZE_DIGITS) {
            chunkLeft = chunkLeft * HEX + digit;
            sizeDigits++;
        } else {
            state = b == ';' && sizeDigits > 0 ? State.EXTENSION : State.MALFORMED;
        }
    }

    private void name(byte b) {
        nameBytes++;
        extra(Bytes.isToken(b) || b == ':' && nameBytes > 1);
        if (b == ':' && state == State.TRAILER_NAME) {
            state = State.TRAILER_VALUE;
        }
    }

    private void extra(boolean valid) {
        if (!valid || ++extraBytes > maxExtraBytes) {
            state = State.MALFORMED;
        }
    }

    private void endOfLine() {
        switch (state) {
            case SIZE, EXTENSION -> endOfSizeLine();
            case DATA_END -> state = State.SIZE;
            case TRAILER_NAME -> state = nameBytes == 0 ? State.COMPLETE : State.MALFORMED;
            default -> {
                state = State.TRAILER_NAME;
                nameBytes = 0;
            }
        }
    }

    private void endOfSizeLine() {
        if (sizeDigits == 0) {
            state = State.MALFORMED;
        } else if (chunkLeft == 0) {
            state = State.TRAILER_NAME;
        } else if (!skips && length + chunkLeft > limitBytes) {
            state = State.TOO_LARGE;
        } else {
            state = State.DATA;
        }
        sizeDigits = 0;
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
