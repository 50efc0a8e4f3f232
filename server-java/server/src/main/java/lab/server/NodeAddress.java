package lab.server;

import static lab.server.Flags.require;

import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.Arrays;
import lab.server.cluster.Topology;

/**
 * Checks that a node can listen where the others will look for it.
 *
 * @param url value of {@code --self}
 */
record NodeAddress(String url) {

    /** Refuses an address that is not of this machine, and flags that contradict it. */
    void validate(NetworkFlags network) {
        Integer port = network.givenPort();
        require(port == null || port == 0 || port == Topology.port(url), "--port is " + port + ", but --self is " + url
                + ", where the other nodes look for this one; leave --port out, or give the port of --self.");
        String host = network.givenHost();
        if (host == null) {
            require(Arrays.stream(addresses("--self", Topology.host(url))).allMatch(NodeAddress::isOfThisMachine),
                    "--self is " + url + ", but no interface of this machine has that address; give the address of this "
                    + "machine, or, where another address leads to it, --host as well.");
            return;
        }
        InetAddress listensOn = addresses("--host", host)[0];
        require(listensOn.isAnyLocalAddress()
                || Arrays.asList(addresses("--self", Topology.host(url))).contains(listensOn), "--host is " + host
                + ", but --self is " + url + ", where the other nodes look for this one; leave --host out, or give the "
                + "host of --self, or 0.0.0.0 for all interfaces.");
    }

    private static InetAddress[] addresses(String flag, String host) {
        try {
            return InetAddress.getAllByName(host);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(flag + " has the host " + host + ", whose address is not known here; give "
                    + "an address of this machine.", e);
        }
    }

    private static boolean isOfThisMachine(InetAddress address) {
        try {
            return address.isLoopbackAddress() || address.isAnyLocalAddress()
                    || NetworkInterface.getByInetAddress(address) != null;
        } catch (SocketException e) {
            // Then binding says what is wrong.
            return true;
        }
    }

    /** Whether only this machine can reach a node. */
    static boolean isLoopback(String url) {
        try {
            return InetAddress.getByName(Topology.host(url)).isLoopbackAddress();
        } catch (UnknownHostException e) {
            return false;
        }
    }
}
