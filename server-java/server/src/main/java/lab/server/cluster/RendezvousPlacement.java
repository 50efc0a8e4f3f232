package lab.server.cluster;

import java.nio.charset.StandardCharsets;
import java.util.List;

/** Weights from murmur3 of the key, seeded with murmur3 of the node's address. */
final class RendezvousPlacement extends WeightedPlacement {

    private final int[] seeds;

    RendezvousPlacement(List<String> nodes) {
        super(nodes.size());
        seeds = new int[nodes.size()];
        for (int node = 0; node < seeds.length; node++) {
            byte[] address = nodes.get(node).getBytes(StandardCharsets.UTF_8);
            seeds[node] = MurmurHash3.hash32(address, 0);
        }
    }

    @Override
    int prepare(byte[] key) {
        return 0;
    }

    @Override
    int weight(int node, byte[] key, int prepared) {
        return MurmurHash3.hash32(key, seeds[node]);
    }
}
