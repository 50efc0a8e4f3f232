package lab.storage;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;

/**
 * What a byte array takes on the heap, which is more than its length where the collector gives large objects whole
 * regions: G1 rounds objects of half a region or more up to regions, ZGC rounds objects over 256 KiB up to 2 MiB. An
 * array of 600 KB takes 1 MiB under the first and 2 MiB under the second on a heap of 128 MiB.
 */
public final class HeapFootprint {

    private static final int ARRAY_HEADER_BYTES = 16;
    private static final long Z_GRANULE_BYTES = 2L << 20;
    private static final long Z_LARGE_BYTES = 256L << 10;

    private static final long LARGE_BYTES;
    private static final long GRANULE_BYTES;

    static {
        HotSpotDiagnosticMXBean vm = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
        if (isOn(vm, "UseZGC")) {
            LARGE_BYTES = Z_LARGE_BYTES;
            GRANULE_BYTES = Z_GRANULE_BYTES;
        } else if (isOn(vm, "UseG1GC")) {
            GRANULE_BYTES = Long.parseLong(vm.getVMOption("G1HeapRegionSize").getValue());
            LARGE_BYTES = GRANULE_BYTES / 2;
        } else {
            LARGE_BYTES = Long.MAX_VALUE;
            GRANULE_BYTES = 1;
        }
    }

    private HeapFootprint() {
    }

    private static boolean isOn(HotSpotDiagnosticMXBean vm, String flag) {
        try {
            return vm != null && Boolean.parseBoolean(vm.getVMOption(flag).getValue());
        } catch (IllegalArgumentException e) {
            // This virtual machine was built without that collector.
            return false;
        }
    }

    /**
     * Heap bytes of a byte array of this length, header and rounding included.
     *
     * @param length number of elements
     */
    public static long ofArray(long length) {
        return ofArray(length, LARGE_BYTES, GRANULE_BYTES);
    }

    static long ofArray(long length, long largeBytes, long granuleBytes) {
        long bytes = length + ARRAY_HEADER_BYTES;
        return bytes < largeBytes ? bytes : (bytes + granuleBytes - 1) / granuleBytes * granuleBytes;
    }
}
