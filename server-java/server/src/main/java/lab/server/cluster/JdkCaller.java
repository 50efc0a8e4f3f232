package lab.server.cluster;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import lab.server.api.ClusterSecret;
import lab.server.api.Exchange;

/** The JDK's client, {@code java.net.http}, over HTTP/1.1; blocking. */
final class JdkCaller implements BlockingTransport.Caller {

    private final HttpClient client;
    private final String url;
    private final Duration timeout;
    private final String proof;

    /**
     * @param secret proves that a node sends the request
     */
    JdkCaller(String url, int timeoutMs, ClusterSecret secret) {
        this.client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(Duration.ofMillis(timeoutMs)).followRedirects(HttpClient.Redirect.NEVER)
                .proxy(HttpClient.Builder.NO_PROXY).build();
        this.url = url;
        this.timeout = Duration.ofMillis(timeoutMs);
        this.proof = secret.fieldValue();
    }

    private HttpRequest request(PeerCall call) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + PeerRequest.target(call)))
                .timeout(timeout).header(Exchange.INTERNAL_FIELD, proof);
        return (call.kind() == PeerCall.Kind.PUT
                ? request.PUT(HttpRequest.BodyPublishers.ofByteArray(call.record())) : request.GET()).build();
    }

    @Override
    public BlockingTransport.PeerResponse ask(PeerCall call) throws IOException, InterruptedException {
        HttpResponse<byte[]> response = client.send(request(call), HttpResponse.BodyHandlers.ofByteArray());
        return new BlockingTransport.PeerResponse(response.statusCode(), response.body());
    }

    @Override
    public void close() {
        client.shutdownNow();
        client.close();
    }
}
