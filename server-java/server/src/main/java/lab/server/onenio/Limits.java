package lab.server.onenio;

import lab.server.api.ClusterSecret;

/**
 * What a connection may ask of the server.
 *
 * @param bodyBytes   larger bodies are refused with 413
 * @param headBytes   requests with larger heads are refused with 431
 * @param connections further ones are closed at once; 0 for no limit
 * @param idleMs      a connection on which nothing happens for this long is closed; 0 for never
 * @param secret      proves that another node sent a request; null if there is none
 */
public record Limits(int bodyBytes, int headBytes, int connections, int idleMs, ClusterSecret secret) {
}
