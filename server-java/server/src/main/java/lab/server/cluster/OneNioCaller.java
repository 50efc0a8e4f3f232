package lab.server.cluster;

import java.io.IOException;
import java.net.ProtocolException;
import lab.server.api.ClusterSecret;
import lab.server.api.Exchange;
import one.nio.http.HttpClient;
import one.nio.http.HttpException;
import one.nio.http.Request;
import one.nio.http.Response;
import one.nio.net.ConnectionString;
import one.nio.pool.PoolException;

/** One-nio's client: blocking, with a pool of connections. */
final class OneNioCaller implements BlockingTransport.Caller {

    private final HttpClient client;
    private final String proof;
    /** Reproduces what a published server did: each call makes a response that nobody reads. */
    private final boolean unusedResponse;

    OneNioCaller(String url, int connections, int timeoutMs, ClusterSecret secret, boolean unusedResponse) {
        this.unusedResponse = unusedResponse;
        proof = Exchange.INTERNAL_FIELD + ": " + secret.fieldValue();
        client = new HttpClient(new ConnectionString(url + "?clientMinPoolSize=0&clientMaxPoolSize=" + connections
                + "&timeout=" + timeoutMs + "&readTimeout=" + timeoutMs + "&connectTimeout=" + timeoutMs));
    }

    @Override
    public BlockingTransport.PeerResponse ask(PeerCall call) throws IOException, InterruptedException {
        String target = PeerRequest.target(call);
        try {
            Response response = unusedResponse ? new Response(Response.BAD_GATEWAY, Response.EMPTY) : null;
            response = call.kind() == PeerCall.Kind.PUT ? client.put(target, call.record(), proof)
                    : client.invoke(client.createRequest(Request.METHOD_GET, target, proof));
            byte[] body = response.getBody();
            return new BlockingTransport.PeerResponse(response.getStatus(), body == null ? Response.EMPTY : body);
        } catch (PoolException e) {
            if (e.getCause() instanceof IOException cause) {
                throw cause;
            }
            throw new IOException(e);
        } catch (HttpException e) {
            throw (IOException) new ProtocolException(e.getMessage()).initCause(e);
        }
    }

    @Override
    public void close() {
        client.close();
    }
}
