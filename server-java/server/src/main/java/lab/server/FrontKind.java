package lab.server;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Locale;
import lab.server.api.AsPublished;
import lab.server.api.ClusterSecret;
import lab.server.api.Front;
import lab.server.execution.Dispatcher;
import lab.server.http.Limits;
import lab.server.jdk.JdkFront;
import lab.server.onenio.KeyValueServer;

/** The fronts that {@code --front} knows. */
enum FrontKind {
    /** One-nio over epoll. */
    ONE_NIO,
    /** Blocking sockets of the JDK, and a virtual thread for each connection. */
    JDK;

    /**
     * Binds a port.
     *
     * @param host   name or number of the interface
     * @param secret proves that another node sent a request; null if there is none
     * @param variant how one-nio's responses are made
     * @throws IOException if it cannot be had
     */
    Front open(NetworkFlags flags, String host, int port, Dispatcher dispatcher, AsPublished variant, ClusterSecret secret)
            throws IOException {
        Limits limits = flags.limits(secret);
        return switch (this) {
            case ONE_NIO -> new KeyValueServer(new KeyValueServer.Address(host, port, flags.selectors(),
                    flags.backlog()), limits, dispatcher, variant);
            case JDK -> new JdkFront(new InetSocketAddress(InetAddress.getByName(host), port), flags.backlog(), limits,
                    dispatcher);
        };
    }

    /** As written on the command line. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
