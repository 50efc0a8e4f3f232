package lab.server.http;

import lab.server.api.ClusterSecret;

/**
 * What a connection may ask of the server.
 *
 * @param bodyBytes   larger bodies are refused with 413
 * @param headBytes   requests with larger heads are refused with 431
 * @param connections so many at most: for a further one the longest idle is closed, or it itself if none is idle
 * @param idleMs      a connection on which nothing happens for this long is closed; 0 for never
 * @param headMs      a head that takes longer from its first byte to its last is refused with 408; 0 for no limit
 * @param secret      proves that another node sent a request; null if there is none
 */
public record Limits(int bodyBytes, int headBytes, int connections, int idleMs, int headMs, ClusterSecret secret) {
}
