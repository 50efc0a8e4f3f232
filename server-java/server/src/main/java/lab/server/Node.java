package lab.server;

import java.nio.file.Path;
import lab.server.cluster.Topology;

/**
 * What is different for each node of this process.
 *
 * @param port     port to listen on, or 0 for any free one
 * @param data     folder of its store, or null
 * @param topology the cluster that it is part of, or null
 * @param shares   nodes that share the heap of this process
 */
record Node(int port, Path data, Topology topology, int shares) {
}
