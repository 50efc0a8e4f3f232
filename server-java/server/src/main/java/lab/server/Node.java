package lab.server;

import java.nio.file.Path;
import lab.server.api.ClusterSecret;
import lab.server.cluster.Topology;

/**
 * What is different for each node of this process.
 *
 * @param host     name or number of the interface to listen on
 * @param port     port to listen on, or 0 for any free one
 * @param data     folder of its store, or null
 * @param topology the cluster that it is part of, or null
 * @param secret   what the nodes of that cluster know each other by, or null
 * @param shares   nodes that share the heap of this process
 */
record Node(String host, int port, Path data, Topology topology, ClusterSecret secret, int shares) {
}
