package lab.server.onenio;

import java.io.IOException;
import java.util.Arrays;
import lab.server.api.BodyMemory;
import lab.server.http.Limits;
import one.nio.http.HttpServer;
import one.nio.net.Socket;

/**
 * The sending half of a connection. Small responses to requests that came together leave together. A response may be put
 * together where there is room in the selector's buffer behind what was received, so that it costs no memory of its own:
 * those bytes are in the processor's cache, and a fresh array never is.
 */
abstract class SendingSession extends ReceivingSession {

    private static final int MAX_HELD_BYTES = 16 * 1024;

    /** Responses that leave together; null before the first, for most clients wait for each. */
    private byte[] held;
    private int heldBytes;

    SendingSession(Socket socket, HttpServer server, Limits limits, BodyMemory.Rooms rooms) {
        super(socket, server, limits, rooms);
    }

    /**
     * Sends a response, or keeps it back until those of the requests behind it are there as well: one write instead of
     * many. What the socket does not take is sent by the selector. Needs the monitor.
     *
     * @param bytes    not changed by anybody until they are sent, unless they are borrowed
     * @param borrowed whether they are used for something else after this method has returned
     */
    final void sendOrHold(byte[] bytes, int from, int length, boolean borrowed) throws IOException {
        if (isFollowed() && length <= MAX_HELD_BYTES) {
            hold(bytes, from, length);
            return;
        }
        flushResponses();
        Part response = new Part(bytes, from, length);
        write(response);
        if (borrowed) {
            response.ownRest();
        }
    }

    private void hold(byte[] bytes, int from, int length) throws IOException {
        if (heldBytes + length > MAX_HELD_BYTES) {
            flushResponses();
        }
        if (held == null) {
            held = new byte[MAX_HELD_BYTES];
        }
        System.arraycopy(bytes, from, held, heldBytes, length);
        heldBytes += length;
    }

    @Override
    final void flushResponses() throws IOException {
        if (heldBytes > 0) {
            int bytes = heldBytes;
            heldBytes = 0;
            write(held, 0, bytes);
            if (queueHead != null) {
                // What the socket did not take is still in there.
                held = null;
            }
        }
    }

    /** A response in a part of an array that may be somebody else's. */
    private static final class Part extends ArrayQueueItem {

        Part(byte[] bytes, int from, int length) {
            super(bytes, from, length, 0);
        }

        /** Takes a copy of what was not sent yet. */
        void ownRest() throws IOException {
            if (remaining() > 0) {
                try {
                    data = Arrays.copyOfRange(data, offset + written, offset + count);
                } catch (OutOfMemoryError e) {
                    // The connection must end, or other bytes would be sent in the place of these.
                    throw new IOException("The heap has no room for the rest of a response.", e);
                }
                count -= written;
                offset = 0;
                written = 0;
            }
        }
    }
}
