package lab.server;

/** The server cannot listen at the address that was given. */
final class PortTakenException extends RuntimeException {

    PortTakenException(String host, int port, Exception cause) {
        super("Port " + port + " on " + host + " cannot be used: " + cause.getMessage()
                + ". Stop the program that has it, or start with another --port (0 takes any free one).", cause);
    }
}
