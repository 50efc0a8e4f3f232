package lab.server.cluster;

/**
 * Rendezvous hashing, also called highest random weight: each node has a weight for each key, and the nodes with the
 * highest ones keep it. D. Thaler and C. Ravishankar, "Using name-based mappings to increase hit rates", IEEE/ACM
 * Transactions on Networking 6(1), 1998.
 */
abstract class WeightedPlacement implements Placement {

    private static final int POSITION_BITS = 8;
    private static final int POSITION_MASK = (1 << POSITION_BITS) - 1;

    private final int nodes;

    WeightedPlacement(int nodes) {
        this.nodes = nodes;
    }

    /**
     * What all weights of a key have in common, so that it is computed once.
     *
     * @return passed to {@link #weight}
     */
    abstract int prepare(byte[] key);

    /** Weight of a node for a key. */
    abstract int weight(int node, byte[] key, int prepared);

    /** Weight and position in one number: of equal weights the first node's counts more. */
    private long ranked(int node, byte[] key, int prepared) {
        return (long) weight(node, key, prepared) << POSITION_BITS | POSITION_MASK - node;
    }

    private static int position(long ranked) {
        return POSITION_MASK - (int) (ranked & POSITION_MASK);
    }

    @Override
    public final int owner(byte[] key) {
        int prepared = prepare(key);
        long best = Long.MIN_VALUE;
        for (int node = 0; node < nodes; node++) {
            best = Math.max(best, ranked(node, key, prepared));
        }
        return position(best);
    }

    @Override
    public final int[] replicas(byte[] key, int count) {
        int prepared = prepare(key);
        long[] best = new long[count];
        int filled = 0;
        for (int node = 0; node < nodes; node++) {
            long candidate = ranked(node, key, prepared);
            if (filled == count && candidate < best[count - 1]) {
                continue;
            }
            int at = filled < count ? filled++ : count - 1;
            for (; at > 0 && best[at - 1] < candidate; at--) {
                best[at] = best[at - 1];
            }
            best[at] = candidate;
        }
        int[] positions = new int[count];
        for (int i = 0; i < count; i++) {
            positions[i] = position(best[i]);
        }
        return positions;
    }
}
