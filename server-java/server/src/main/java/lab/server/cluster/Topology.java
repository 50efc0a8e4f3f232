package lab.server.cluster;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.List;

/**
 * The nodes of a cluster, in an order that is the same on each of them, however their flags list them.
 *
 * @param nodes addresses, {@code http://HOST:PORT}, sorted
 * @param self  position of this node
 */
public record Topology(List<String> nodes, int self) {

    /** The number of a node takes one byte of each version. */
    public static final int MAX_NODES = 256;

    /** Keeps a copy. */
    public Topology {
        nodes = List.copyOf(nodes);
    }

    /**
     * Checks and sorts addresses.
     *
     * @param urls as the user wrote them
     * @param self address of this node, one of them
     * @throws IllegalArgumentException if it is no topology; the message names the flag
     */
    public static Topology of(List<String> urls, String self) {
        List<String> nodes = new ArrayList<>();
        for (String url : urls) {
            String node = address(url, "--topology");
            if (nodes.contains(node)) {
                throw new IllegalArgumentException("--topology names " + node + " twice; name each node once.");
            }
            nodes.add(node);
        }
        if (nodes.size() > MAX_NODES) {
            throw new IllegalArgumentException("--topology has " + nodes.size() + " nodes; at most " + MAX_NODES
                    + " are possible.");
        }
        nodes.sort(null);
        int position = nodes.indexOf(address(self, "--self"));
        if (position < 0) {
            throw new IllegalArgumentException("--self is " + self + ", which is not a node of --topology; use one of "
                    + String.join(", ", nodes) + ".");
        }
        return new Topology(nodes, position);
    }

    private static String address(String url, String flag) {
        try {
            URI uri = new URI(url);
            boolean plain = "http".equals(uri.getScheme()) && uri.getHost() != null && uri.getPort() > 0
                    && uri.getUserInfo() == null && uri.getQuery() == null && uri.getFragment() == null
                    && (uri.getPath().isEmpty() || "/".equals(uri.getPath()));
            if (plain) {
                return "http://" + uri.getHost() + ':' + uri.getPort();
            }
        } catch (URISyntaxException e) {
            // Said below, as for any other text that is no address.
        }
        throw new IllegalArgumentException(flag + " has '" + url + "', which is no address of a node; write "
                + "http://HOST:PORT.");
    }

    /** Number of nodes. */
    public int size() {
        return nodes.size();
    }

    /** Address of this node. */
    public String selfUrl() {
        return nodes.get(self);
    }

    /** Host name or number of a node. */
    public static String host(String url) {
        return URI.create(url).getHost();
    }

    /** Port of a node. */
    public static int port(String url) {
        return URI.create(url).getPort();
    }
}
