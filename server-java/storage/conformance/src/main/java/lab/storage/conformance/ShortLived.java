package lab.storage.conformance;

import java.util.List;

/** Flags of a JVM that ends before the second compiler or the checks of the byte code that javac has made have paid off. */
public final class ShortLived {

    /** First among the flags; says nothing of the collector. */
    public static final List<String> JVM = List.of("-XX:TieredStopAtLevel=1", "-XX:+UnlockDiagnosticVMOptions",
            "-XX:-BytecodeVerificationRemote");

    private ShortLived() {
    }
}
