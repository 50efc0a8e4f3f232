package lab.server.cluster;

/** The hash code of the key modulo the number of nodes; further replicas on the nodes that follow. */
final class ModuloPlacement implements Placement {

    private final int nodes;

    ModuloPlacement(int nodes) {
        this.nodes = nodes;
    }

    @Override
    public int owner(byte[] key) {
        return Math.floorMod(TextHash.of(key), nodes);
    }

    @Override
    public int[] replicas(byte[] key, int count) {
        int[] positions = new int[count];
        for (int i = 0, node = owner(key); i < count; i++, node = (node + 1) % nodes) {
            positions[i] = node;
        }
        return positions;
    }
}
