package lab.storage.lsm.manifest;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import lab.storage.lsm.disk.CorruptionException;
import lab.storage.lsm.log.LogReader;

/**
 * Finds out how much of the logs of a folder is to be read, without changing them. Reading ends at the first record that
 * is not whole, and a log that does not go on where the one before it ended is not read, because writes between them are
 * missing.
 *
 * <p>After a loss of power that is ordinary, for what was never forced to disk is left in any part. What was forced is marked
 * in the log itself, and a log was forced only after those before it. As long as the machine runs, a killed process leaves
 * everything but the end of its last record. Where the logs are damaged although neither explains it, the disk is to blame,
 * and writes that were acknowledged are lost.
 */
public final class LogSurvey {

    /**
     * A log.
     *
     * @param begun         whether it was ever in use
     * @param torn          whether something follows the last whole record that is not just room for the next one
     * @param unfinished    whether that can be the record that a killed process was writing
     * @param firstSequence number of its first write
     * @param writes        writes in whole records
     * @param end           position after those records
     * @param later         writes in whole records after that
     * @param dataEnd       position after the last byte that is not zero
     * @param durableEnd    position up to which it was known to be on disk; 0 if that is not known
     */
    public record Found(long number, Path file, boolean begun, boolean torn, boolean unfinished, long firstSequence,
            long writes, long end, long later, long dataEnd, long durableEnd) {

        private static Found of(long number, Path file) throws IOException {
            try (LogReader reader = new LogReader(file)) {
                boolean begun = reader.begun(number);
                if (begun) {
                    reader.replay((key, value) -> { });
                }
                boolean torn = reader.torn();
                boolean unfinished = reader.unfinished();
                long writes = reader.writes();
                long end = reader.end();
                reader.salvage((key, value) -> { });
                return new Found(number, file, begun, torn, unfinished, reader.firstSequence(), writes, end,
                        reader.writes() - writes, reader.dataEnd(), reader.durableEnd());
            }
        }
    }

    private final List<Found> logs;
    private final boolean ofThisBoot;
    private int readable;
    private String cut;
    private CorruptionException corruption;

    private LogSurvey(List<Found> logs, boolean ofThisBoot) {
        this.logs = logs;
        this.ofThisBoot = ofThisBoot;
    }

    /**
     * Looks through logs, in order.
     *
     * @param lastSequence number of the last write that is in tables; {@link Manifest#UNKNOWN} if that is not known
     * @param ofThisBoot   whether the machine was not started anew since they were written
     * @throws CorruptionException if the header of one is damaged that was known to be on disk
     */
    public static LogSurvey of(Map<Long, Path> files, long lastSequence, boolean ofThisBoot) throws IOException {
        List<Found> logs = new ArrayList<>();
        for (Map.Entry<Long, Path> file : files.entrySet()) {
            logs.add(Found.of(file.getKey(), file.getValue()));
        }
        LogSurvey survey = new LogSurvey(logs, ofThisBoot);
        survey.findEnd(lastSequence);
        return survey;
    }

    private void findEnd(long lastSequence) {
        int lastForced = -1;
        for (int i = 0; i < logs.size(); i++) {
            lastForced = logs.get(i).durableEnd() > 0 ? i : lastForced;
        }
        long last = lastSequence;
        boolean anyRead = false;
        boolean anyUnused = false;
        for (Found log : logs) {
            boolean follows = log.begun() && (anyRead ? log.firstSequence() == last + 1
                    : last == Manifest.UNKNOWN ? !anyUnused : log.firstSequence() <= last + 1);
            if (log.begun() ? !follows : log.torn()) {
                cut = log.begun() ? "The log " + log.file() + " begins with write " + log.firstSequence()
                        + ", but the writes before it end with " + Math.max(0, last) + "; it is not read"
                        : "The log " + log.file() + " has no whole header; nothing of it is read";
                end(log, 0, readable <= lastForced);
                return;
            }
            readable++;
            // Logs are used in order, so of one that is empty before one in use nothing has reached the disk.
            anyUnused |= !log.begun();
            if (!log.begun()) {
                continue;
            }
            anyRead = true;
            last = log.firstSequence() + log.writes() - 1;
            if (log.torn() || log.end() < log.durableEnd()) {
                cut = "The log " + log.file() + " ends in a record that was not written whole; it is cut at offset "
                        + log.end() + " after " + log.writes() + " writes, " + (log.dataEnd() - log.end())
                        + " bytes follow";
                end(log, log.end(), readable - 1 < lastForced || log.end() < log.durableEnd());
                return;
            }
        }
    }

    private void end(Found log, long offset, boolean wasForced) {
        boolean isGap = offset == 0 && log.begun();
        String damage = isGap ? "writes before it are missing (" + cut + ")" : "the record here is not whole";
        long later = laterWrites();
        String lost = later == 0 ? "" : "; " + later + " whole writes follow, which 'lsm repair' keeps";
        if (wasForced) {
            corruption = new CorruptionException(log.file(), offset, damage + ", but it was forced to disk" + lost);
        } else if (ofThisBoot && (isGap || !isLeftByAKill(log))) {
            corruption = new CorruptionException(log.file(), offset, damage + ", but the machine has not lost its "
                    + "power since it was written" + lost);
        }
    }

    /** A killed process leaves its last record, or the header of its last log, without a checksum, and nothing after it. */
    private boolean isLeftByAKill(Found cutLog) {
        boolean isLast = logs.subList(logs.indexOf(cutLog) + 1, logs.size()).stream()
                .noneMatch(log -> log.begun() || log.torn());
        return isLast && cutLog.unfinished() && cutLog.later() == 0;
    }

    /** Writes in whole records that follow the place at which reading ends. */
    public long laterWrites() {
        if (cut == null) {
            return 0;
        }
        Found at = cutLog();
        return at.later() + (readable().contains(at) ? 0 : at.writes())
                + afterCut().stream().mapToLong(log -> log.writes() + log.later()).sum();
    }

    /**
     * Refuses damage of what was known to be on disk.
     *
     * @throws CorruptionException if there is any
     */
    public void check() {
        if (corruption != null) {
            throw corruption;
        }
    }

    /** Tells of whole writes behind the place at which reading ends; only if there are any. */
    public CorruptionException hole() {
        Found at = cutLog();
        return new CorruptionException(at.file(), readable().contains(at) ? at.end() : 0, cut + "; " + laterWrites()
                + " whole writes follow, which 'lsm repair' keeps and the next start sets aside");
    }

    /** All logs, in order. */
    public List<Found> logs() {
        return logs;
    }

    /** The logs to read, in order, each up to its last whole record. */
    public List<Found> readable() {
        return logs.subList(0, readable);
    }

    /** Why reading ends before the end; null if it does not. */
    public String cut() {
        return cut;
    }

    /** The log at which reading ends; only if it does. */
    Found cutLog() {
        Found last = readable == 0 ? null : logs.get(readable - 1);
        return last != null && last.begun() && (last.torn() || last.end() < last.durableEnd()) ? last
                : logs.get(readable);
    }

    /** Logs after the one at which reading ends. */
    List<Found> afterCut() {
        return logs.subList(logs.indexOf(cutLog()) + 1, logs.size());
    }
}
