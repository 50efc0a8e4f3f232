package lab.storage.lsm.log;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** The write-ahead log forced to disk, as seen in a flight recording. */
@Name("lab.LogSync")
@Label("Log sync")
@Category({"Lab", "Storage"})
@Description("The write-ahead log is forced to disk, for all writers that have appended by then.")
@StackTrace(false)
final class LogSyncEvent extends Event {

    @Label("Bytes appended since the last one")
    @DataAmount
    long bytes;

    @Label("Log number")
    long log;
}
