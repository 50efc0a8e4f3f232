package lab.server.cluster;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import lab.server.api.ClusterSecret;
import lab.server.api.Exchange;
import lab.storage.Cursor;

/**
 * The records of another node, read from it as they are wanted, on a connection of their own. Whoever moves it waits for
 * the network, so no thread that others need may.
 */
final class PeerRecords implements Cursor {

    private static final int BUFFER_BYTES = 32 * 1024;
    private static final String OK = " 200 ";

    private final String url;
    private final Socket socket = new Socket();
    private final InputStream in;
    private final byte[] head = new byte[RecordsBody.HEAD_BYTES];
    private byte[] bytes = new byte[BUFFER_BYTES];
    private int keyLength;
    private int recordLength;
    private boolean ended;

    /**
     * Connects, and returns when the node responds.
     *
     * @param target    path and query of the range
     * @param timeoutMs longest wait for the connection, for the response and for each of its pieces
     * @throws IOException if the node cannot be reached or refuses
     */
    PeerRecords(String url, String target, ClusterSecret secret, int timeoutMs) throws IOException {
        this.url = url;
        try {
            socket.connect(new InetSocketAddress(Topology.host(url), Topology.port(url)), timeoutMs);
            socket.setSoTimeout(timeoutMs);
            // HTTP/1.0 has no chunks; the records themselves say where they end.
            socket.getOutputStream().write(("GET " + target + " HTTP/1.0\r\nHost: " + Topology.host(url) + "\r\n"
                    + Exchange.INTERNAL_FIELD + ": " + secret.fieldValue() + "\r\n\r\n")
                    .getBytes(StandardCharsets.US_ASCII));
            in = new BufferedInputStream(socket.getInputStream(), BUFFER_BYTES);
            String status = line();
            if (!status.contains(OK)) {
                throw new IOException(url + " responds to a range with '" + status + "'.");
            }
            while (!line().isEmpty()) {
                // No field of the head is needed.
            }
        } catch (IOException | RuntimeException e) {
            socket.close();
            throw e;
        }
    }

    private String line() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int b = in.read(); b != '\n'; b = in.read()) {
            if (b < 0) {
                throw new EOFException(url + " ended its response to a range in the head.");
            }
            if (b != '\r') {
                line.append((char) b);
            }
        }
        return line.toString();
    }

    @Override
    public boolean next() {
        if (ended) {
            return false;
        }
        try {
            read(head, head.length);
            MemorySegment lengths = MemorySegment.ofArray(head);
            keyLength = lengths.get(RecordsBody.LENGTH, 0);
            recordLength = lengths.get(RecordsBody.LENGTH, Integer.BYTES);
            ended = keyLength == 0;
            int length = Math.addExact(keyLength, recordLength);
            if (length > bytes.length) {
                bytes = new byte[Math.max(length, 2 * bytes.length)];
            }
            read(bytes, length);
            return !ended;
        } catch (IOException e) {
            throw new UncheckedIOException(url + " cut its range short: " + e.getMessage(), e);
        }
    }

    private void read(byte[] target, int length) throws IOException {
        if (in.readNBytes(target, 0, length) < length) {
            throw new EOFException("the connection ended");
        }
    }

    @Override
    public MemorySegment key() {
        return MemorySegment.ofArray(bytes).asSlice(0, keyLength);
    }

    @Override
    public MemorySegment value() {
        return MemorySegment.ofArray(bytes).asSlice(keyLength, recordLength);
    }

    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            // It is of no use any more, whatever it says.
        }
    }
}
