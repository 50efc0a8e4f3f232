package lab.server.cluster;

/**
 * Says which nodes keep a key. Every node comes to the same result by itself.
 *
 * <p>The nodes for a smaller number of replicas are contained in those for a larger one.
 */
public interface Placement {

    /** Position of the one node that keeps a key when there is one replica; the first of {@link #replicas}. */
    int owner(byte[] key);

    /**
     * Positions of the nodes that keep a key, all different.
     *
     * @param count number of replicas, 1 to the number of nodes
     */
    int[] replicas(byte[] key, int count);
}
