package lab.server.api;

import java.util.Locale;

/**
 * What the servers of the published reports did in each request and this one does not: one at a time, to see what each
 * costs. Nothing of it is on the way of a request unless it is asked for.
 */
public enum AsPublished {
    /** Nothing. */
    NOTHING,
    /** The key becomes a text and then bytes again. */
    STRING_KEYS,
    /** A value is copied to an array of its own before it is stored or sent. */
    COPIED_VALUES,
    /** Each response is one-nio's object, a list of texts that become bytes. */
    NEW_RESPONSE,
    /** The same, but responses without a body are one object for all requests, which one-nio changes each time. */
    SHARED_RESPONSE;

    /** Whether it is about the objects that responses are made of, which one-nio alone has. */
    public boolean isOfResponses() {
        return this == NEW_RESPONSE || this == SHARED_RESPONSE;
    }

    /** As written on the command line. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
