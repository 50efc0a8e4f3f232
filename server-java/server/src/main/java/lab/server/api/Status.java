package lab.server.api;

/** The statuses that the API knows. */
public enum Status {
    /** A value, a range or the status follows. */
    OK(200, "OK"),
    /** A value was stored. */
    CREATED(201, "Created"),
    /** A key was deleted, whether it was there or not. */
    ACCEPTED(202, "Accepted"),
    /** The request is not one of the API. */
    BAD_REQUEST(400, "Bad Request"),
    /** The request says that another node sent it, and does not prove it. */
    FORBIDDEN(403, "Forbidden"),
    /** The key is absent. */
    NOT_FOUND(404, "Not Found"),
    /** The path is one of the API, the method is not. */
    METHOD_NOT_ALLOWED(405, "Method Not Allowed"),
    /** The head of the request did not come in time. */
    REQUEST_TIMEOUT(408, "Request Timeout"),
    /** The value or the key is larger than the limit. */
    TOO_LARGE(413, "Content Too Large"),
    /** The head of the request is larger than the limit. */
    HEAD_TOO_LARGE(431, "Request Header Fields Too Large"),
    /** The server failed; the cause is in its log. */
    INTERNAL_ERROR(500, "Internal Server Error"),
    /** The body has a coding that the server does not know. */
    NOT_IMPLEMENTED(501, "Not Implemented"),
    /** The server has more to do than it can; come again. */
    UNAVAILABLE(503, "Service Unavailable"),
    /** Too few replicas responded in time. */
    TOO_FEW_REPLICAS(504, "Gateway Timeout"),
    /** The disk is full; reads go on. */
    STORAGE_FULL(507, "Insufficient Storage");

    private final int code;
    private final String reason;

    Status(int code, String reason) {
        this.code = code;
        this.reason = reason;
    }

    /** The number. */
    public int code() {
        return code;
    }

    /** The words that follow the number. */
    public String reason() {
        return reason;
    }
}
