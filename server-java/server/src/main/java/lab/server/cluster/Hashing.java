package lab.server.cluster;

import java.util.List;
import java.util.Locale;

/** The ways to place keys that {@code --hashing} knows. */
public enum Hashing {

    /** The nodes with the highest murmur3 of key and node: even, and a node that comes or goes moves only its own keys. */
    RENDEZVOUS {
        @Override
        public Placement place(List<String> nodes) {
            return new RendezvousPlacement(nodes);
        }
    },

    /**
     * The fault that was published: the nodes with the highest {@code Objects.hash(node, key)}. That is a sum, so the
     * key moves all nodes by the same amount and hardly ever changes their order: one node gets all keys.
     */
    OBJECTS_HASH {
        @Override
        public Placement place(List<String> nodes) {
            return new ObjectsHashPlacement(nodes);
        }
    },

    /** The hash of the key modulo the number of nodes: even, but another number of nodes moves most keys. */
    MODULO {
        @Override
        public Placement place(List<String> nodes) {
            return new ModuloPlacement(nodes.size());
        }
    };

    /**
     * A placement over some nodes.
     *
     * @param nodes their addresses; the order is that of the positions
     */
    public abstract Placement place(List<String> nodes);

    /** As written on the command line. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
