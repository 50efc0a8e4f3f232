package lab.storage.lsm;

import java.util.List;

/**
 * Chooses tables to merge, by size. Only tables that are neighbours in age may be merged, or an older version of a key
 * would come to lie above a newer one.
 *
 * <p>A run of at least {@link #MIN_RUN} neighbours is merged when each is at most {@link #SIZE_RATIO} times as large as
 * all newer ones of the run together. So sizes grow like powers of two and each entry is rewritten a logarithmic number
 * of times. If sizes never fit, the newer half is merged once there are {@link #MAX_TABLES}, which bounds what a read
 * has to look into.
 */
final class CompactionPolicy {

    static final int MIN_RUN = 4;
    static final int MAX_TABLES = 12;
    static final double SIZE_RATIO = 1.5;

    /**
     * Tables from one position to another.
     *
     * @param from first one, counted from the newest
     * @param to   the one after the last
     */
    record Run(int from, int to) {
    }

    private CompactionPolicy() {
    }

    /**
     * @param sizesBytes sizes of the tables, newest first
     * @return what to merge, or null
     */
    static Run choose(List<Long> sizesBytes) {
        for (int from = 0; from + MIN_RUN <= sizesBytes.size(); from++) {
            long together = sizesBytes.get(from);
            int to = from + 1;
            while (to < sizesBytes.size() && sizesBytes.get(to) <= together * SIZE_RATIO) {
                together += sizesBytes.get(to++);
            }
            if (to - from >= MIN_RUN) {
                return new Run(from, to);
            }
        }
        return sizesBytes.size() >= MAX_TABLES ? new Run(0, sizesBytes.size() / 2) : null;
    }
}
