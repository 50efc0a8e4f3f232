package lab.server.onenio;

import lab.server.api.Status;
import one.nio.http.Request;

/** One-nio's request with what our session found out while it read the head. */
final class ReceivedRequest extends Request {

    /** One-nio's number for a method that it does not know. */
    private static final int UNKNOWN_METHOD = 0;

    /** Whether the connection stays open after the response. */
    boolean keepAlive;
    /** Length of the body as announced, or -1. */
    long contentLength = -1;
    boolean chunkedBody;
    String transferEncoding;
    boolean expectsContinue;
    /** Whether another node of the cluster sent it. */
    boolean internal;
    /** If not null, the request gets this response instead of being handled. */
    Status rejection;
    String rejectionText;

    ReceivedRequest(int method, String target, boolean http11) {
        super(method, target, http11);
        keepAlive = http11;
    }

    static ReceivedRequest unreadable(Status status, String text) {
        ReceivedRequest request = new ReceivedRequest(UNKNOWN_METHOD, "", true);
        request.reject(status, text);
        request.keepAlive = false;
        return request;
    }

    void reject(Status status, String text) {
        rejection = status;
        rejectionText = text;
    }
}
