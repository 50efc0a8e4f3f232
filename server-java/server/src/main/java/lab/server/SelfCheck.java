package lab.server;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import lab.server.api.KeyValueApi;

/**
 * Asks the server that was just started who it is. One-nio only logs it if it cannot listen, and two processes can bind
 * one port before either listens; so "ready" is said only after a response came, and came from this process.
 */
final class SelfCheck {

    private static final int TIMEOUT_MS = 5_000;

    private SelfCheck() {
    }

    static void awaitResponse(String host, int port, String instance) {
        try {
            String response = ask(host, port);
            if (!response.contains(instance)) {
                throw new ConnectException("another server responds there");
            }
        } catch (IOException e) {
            throw new PortTakenException(host, port, e);
        }
    }

    private static String ask(String host, int port) throws IOException {
        InetAddress address = InetAddress.getByName(host);
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(address.isAnyLocalAddress() ? InetAddress.getLoopbackAddress()
                    : address, port), TIMEOUT_MS);
            socket.setSoTimeout(TIMEOUT_MS);
            OutputStream out = socket.getOutputStream();
            out.write(("GET " + KeyValueApi.STATUS + " HTTP/1.1\r\nHost: self\r\nConnection: close\r\n\r\n")
                    .getBytes(StandardCharsets.US_ASCII));
            InputStream in = socket.getInputStream();
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
