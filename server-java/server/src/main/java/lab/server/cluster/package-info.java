/**
 * Several nodes that act as one: where a key lies ({@link lab.server.cluster.Placement}), which version of it is the last
 * ({@link lab.server.cluster.StampedRecord}), how nodes ask each other ({@link lab.server.cluster.Peer}) and how many of them must
 * have responded ({@link lab.server.cluster.ReplicatedEntities}).
 */
package lab.server.cluster;
