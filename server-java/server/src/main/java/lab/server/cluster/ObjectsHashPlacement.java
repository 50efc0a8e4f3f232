package lab.server.cluster;

import java.util.List;

/** Weights from {@code java.util.Objects.hash(address, key)}, computed without its array. See {@link Hashing#OBJECTS_HASH}. */
final class ObjectsHashPlacement extends WeightedPlacement {

    private static final int FACTOR = 31;

    /** The part of the hash that the address makes. */
    private final int[] addressParts;

    ObjectsHashPlacement(List<String> nodes) {
        super(nodes.size());
        addressParts = new int[nodes.size()];
        for (int node = 0; node < addressParts.length; node++) {
            addressParts[node] = FACTOR * (FACTOR + nodes.get(node).hashCode());
        }
    }

    @Override
    int prepare(byte[] key) {
        return TextHash.of(key);
    }

    @Override
    int weight(int node, byte[] key, int prepared) {
        return addressParts[node] + prepared;
    }
}
