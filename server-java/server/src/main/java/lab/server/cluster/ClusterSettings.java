package lab.server.cluster;

import lab.server.api.ClusterSecret;

/**
 * How a cluster works; the same on all of its nodes.
 *
 * @param hashing       how keys are placed
 * @param from          replicas of a key, unless a request says it
 * @param ack           replicas that must have responded, unless a request says it
 * @param readRepair    whether a read writes the freshest version to the replicas that are behind
 * @param client        how nodes ask each other
 * @param clientLock    whether one lock is held during each call, as in a published fault; for blocking clients
 * @param unusedResponse whether each call makes a response that nobody reads, as published; for one-nio's client
 * @param peerThreads   threads that wait for responses of other nodes, or read them
 * @param peerTimeoutMs longest wait for the response of another node
 * @param peerRetryMs   time between probes of a node that is set aside
 * @param clockOffsetMs what is added to the wall clock of this node, to see how a cluster bears clocks that differ
 * @param secret        by which nodes know each other's requests
 */
public record ClusterSettings(Hashing hashing, int from, int ack, boolean readRepair, ClientKind client,
        boolean clientLock, boolean unusedResponse, int peerThreads, int peerTimeoutMs, int peerRetryMs,
        long clockOffsetMs, ClusterSecret secret) {
}
