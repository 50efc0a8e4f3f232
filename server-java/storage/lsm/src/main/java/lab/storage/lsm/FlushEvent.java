package lab.storage.lsm;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** One memtable written to a table, as seen in a flight recording. */
@Name("lab.Flush")
@Label("Flush")
@Category({"Lab", "Storage"})
@Description("A memtable is written to a table; lasts from the first entry until the manifest is on disk.")
@StackTrace(false)
final class FlushEvent extends Event {

    @Label("Memtable size")
    @DataAmount
    long memtableBytes;

    @Label("Table size")
    @DataAmount
    long bytes;

    @Label("Entries")
    long entries;

    @Label("Table number")
    long table;
}
