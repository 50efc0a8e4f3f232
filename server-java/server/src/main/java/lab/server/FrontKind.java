package lab.server;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import lab.server.api.AsPublished;
import lab.server.api.Front;
import lab.server.execution.Dispatcher;
import lab.server.jdk.JdkFront;
import lab.server.onenio.KeyValueServer;
import lab.server.onenio.Limits;

/** The fronts that {@code --front} knows. */
enum FrontKind {
    /** One-nio over epoll. */
    ONE_NIO("one-nio"),
    /** The HTTP server of the JDK. */
    JDK("jdk");

    private final String flag;

    FrontKind(String flag) {
        this.flag = flag;
    }

    /**
     * Binds a port.
     *
     * @param way how one-nio's answers are made
     * @throws IOException if it cannot be had
     */
    Front open(NetworkFlags flags, int port, Dispatcher dispatcher, AsPublished way) throws IOException {
        return switch (this) {
            case ONE_NIO -> new KeyValueServer(new KeyValueServer.Address(flags.host(), port, flags.selectors(),
                    flags.backlog()), new Limits(flags.maxValueBytes(), flags.maxHeadBytes(), flags.maxConnections(),
                    flags.idleTimeoutMs()), dispatcher, way);
            case JDK -> new JdkFront(new InetSocketAddress(InetAddress.getByName(flags.host()), port), flags.backlog(),
                    flags.maxValueBytes(), dispatcher);
        };
    }

    /** As written on the command line. */
    @Override
    public String toString() {
        return flag;
    }
}
