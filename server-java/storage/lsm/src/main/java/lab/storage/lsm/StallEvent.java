package lab.storage.lsm;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A writer that was held up, as seen in a flight recording. */
@Name("lab.Stall")
@Label("Stall")
@Category({"Lab", "Storage"})
@Description("A writer is slowed down, or waits for room, because flushing or merging is behind.")
@StackTrace(false)
final class StallEvent extends Event {

    @Label("Bytes of the write that waited")
    @DataAmount
    long bytes;

    @Label("Reason")
    String reason;
}
