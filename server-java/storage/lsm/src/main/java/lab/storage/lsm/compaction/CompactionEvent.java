package lab.storage.lsm.compaction;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** Several tables merged into one, as seen in a flight recording. */
@Name("lab.Compaction")
@Label("Compaction")
@Category({"Lab", "Storage"})
@Description("Tables are merged into one; lasts from the first entry until the manifest is on disk.")
@StackTrace(false)
final class CompactionEvent extends Event {

    @Label("Tables merged")
    int tables;

    @Label("Bytes read")
    @DataAmount
    long bytesRead;

    @Label("Bytes written")
    @DataAmount
    long bytes;

    @Label("Entries written")
    long entries;
}
