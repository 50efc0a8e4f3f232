package lab.server.api;

/** The request is not one of the API. The message is for the client: what is wrong and what to send instead. */
public final class BadRequestException extends RuntimeException {

    /** With a message for the client. */
    public BadRequestException(String message) {
        // Clients can cause these at will, so they carry no stack trace.
        super(message, null, false, false);
    }
}
