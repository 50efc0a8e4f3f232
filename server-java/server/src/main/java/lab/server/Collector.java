package lab.server;

import java.lang.management.ManagementFactory;

/** Which garbage collector runs, by the names of its beans. */
final class Collector {

    private Collector() {
    }

    /** Serial, Parallel, G1, ZGC, Shenandoah or Epsilon; the name of the first bean if it is none of these. */
    static String name() {
        String bean = ManagementFactory.getGarbageCollectorMXBeans().getFirst().getName();
        String word = bean.split(" ")[0];
        return switch (word) {
            case "Copy", "MarkSweepCompact" -> "Serial";
            case "PS" -> "Parallel";
            default -> word;
        };
    }
}
