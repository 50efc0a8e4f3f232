package lab.storage.lsm.memtable;

import lab.storage.lsm.entry.Keys;

/** The order of a memtable's keys: a skip list (Pugh, 1990). One thread at a time inserts; readers need no lock. */
final class SkipList {

    /** So many nodes stand for all the others of a part. */
    static final int SAMPLE = 1024;

    /** Each level has a quarter of the nodes of the one below it. */
    private static final int LEVEL_BITS = 2;

    private final Nodes nodes;
    private final long head;
    private final long[] before = new long[Nodes.MAX_HEIGHT];
    private int height = 1;
    private int random = 0x2545f491;

    /**
     * @param head node of zeros, of {@link Nodes#headBytes()}
     */
    SkipList(Nodes nodes, long head) {
        this.nodes = nodes;
        this.head = head;
    }

    /** How high the next node is to be. */
    int nextHeight() {
        random ^= random << 13;
        random ^= random >>> 17;
        random ^= random << 5;
        return Math.min(Nodes.MAX_HEIGHT, 1 + Integer.numberOfTrailingZeros(random | 1 << 30) / LEVEL_BITS);
    }

    /** Puts a node, which is written but for its links, into its place. Its key must be new. */
    void insert(long node, int levels, byte[] key, long prefix) {
        findBefore(key, prefix);
        for (int level = height; level < levels; level++) {
            before[level] = head;
        }
        height = Math.max(height, levels);
        for (int level = 0; level < levels; level++) {
            nodes.insert(node, prefix, before[level], level);
        }
    }

    /** Finds, on each level, the last node before a key. */
    private void findBefore(byte[] key, long prefix) {
        long node = head;
        long notBefore = 0;
        for (int level = height - 1; level >= 0; level--) {
            long next = nodes.next(node, level);
            while (next != 0 && next != notBefore && isBefore(next, nodes.nextPrefix(node, level), key, prefix)) {
                node = next;
                next = nodes.next(node, level);
            }
            notBefore = next;
            before[level] = node;
        }
    }

    private boolean isBefore(long node, long nodePrefix, byte[] key, long prefix) {
        return nodePrefix != prefix ? Long.compareUnsigned(nodePrefix, prefix) < 0
                : nodes.compareWhole(node, key, key.length) < 0;
    }

    /** The first node whose key is not smaller, or with null the first of all; 0 if there is none. */
    long seek(byte[] key) {
        if (key == null) {
            return nodes.next(head, 0);
        }
        long prefix = Keys.prefix(key, 0, key.length);
        long node = head;
        long next = 0;
        for (int level = Nodes.MAX_HEIGHT - 1; level >= 0; level--) {
            next = nodes.next(node, level);
            while (next != 0 && nodes.compare(next, key, key.length, prefix) < 0) {
                node = next;
                next = nodes.next(node, level);
            }
        }
        return next;
    }

    /** Share of the keys that a test says yes to, from the nodes of the highest level that has {@link #SAMPLE} of them. */
    double share(Memtable.KeyTest test) {
        byte[] key = new byte[Long.BYTES];
        for (int level = Nodes.MAX_HEIGHT - 1; ; level--) {
            int nodesThere = 0;
            for (long node = nodes.next(head, level); node != 0 && nodesThere < SAMPLE; node = nodes.next(node, level)) {
                nodesThere++;
            }
            if (nodesThere < SAMPLE && level > 0) {
                continue;
            }
            long yes = 0;
            long all = 0;
            for (long node = nodes.next(head, level); node != 0; node = nodes.next(node, level)) {
                all++;
                int length = nodes.keyLength(node);
                if (length > key.length) {
                    key = new byte[2 * length];
                }
                Keys.copy(nodes.data(), nodes.keyOffset(node), key, 0, length);
                yes += test.holds(key, length) ? 1 : 0;
            }
            return all == 0 ? 0 : (double) yes / all;
        }
    }
}
