package lab.server;

import java.util.Locale;

/** How an engine that others made is set. */
enum Preset {
    /** As in the report that used it. */
    PUBLISHED,
    /** As its own documentation would have it for this load. */
    TUNED;

    /** As written on the command line. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
