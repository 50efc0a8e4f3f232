package lab.server.api;

/** Request methods, as far as the API tells them apart. */
public enum Method {
    /** Reads; HEAD too. */
    GET,
    /** Stores. */
    PUT,
    /** Removes. */
    DELETE,
    /** Any other one. */
    OTHER
}
