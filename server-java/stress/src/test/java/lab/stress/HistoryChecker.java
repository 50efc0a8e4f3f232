package lab.stress;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Checks what clients saw of one register a key whose last version wins: no acknowledged write may be lost, and nothing
 * that it replaced or deleted may come back. Every value is written once, so a read tells which write it saw.
 *
 * <p>A write A is certainly older than a write B if A was stamped before B began. A read must not show anything that is
 * certainly older than a write that was acknowledged before the read began. That is regularity (L. Lamport, "On
 * interprocess communication", 1986) for many writers whose order is that of their stamps. It is weaker than
 * linearizability: a read that sees a write under way does not oblige the next read to see it too, which a quorum alone
 * does not promise.
 */
final class HistoryChecker {

    private HistoryChecker() {
    }

    /**
     * Faults of a history.
     *
     * @param history operations in any order
     * @return a sentence for each read that should not have been possible; empty if there is none
     */
    static List<String> faults(List<Operation> history) {
        Map<String, List<Operation>> byKey = new LinkedHashMap<>();
        for (Operation operation : history) {
            byKey.computeIfAbsent(operation.key(), key -> new ArrayList<>()).add(operation);
        }
        List<String> faults = new ArrayList<>();
        byKey.values().forEach(operations -> check(operations, faults));
        return faults;
    }

    private static void check(List<Operation> operations, List<String> faults) {
        List<Operation> acknowledged = new ArrayList<>();
        List<Operation> deletions = new ArrayList<>();
        Map<String, Operation> puts = new HashMap<>();
        for (Operation operation : operations) {
            if (!operation.isWrite() || operation.outcome() == Operation.Outcome.NEVER_SENT) {
                continue;
            }
            if (operation.outcome() == Operation.Outcome.DONE) {
                acknowledged.add(operation);
            }
            if (operation.kind() == Operation.Kind.DELETE) {
                deletions.add(operation);
            } else if (puts.put(operation.value(), operation) != null) {
                throw new IllegalArgumentException("The value " + operation.value() + " was written twice.");
            }
        }
        for (Operation operation : operations) {
            if (!operation.isWrite() && operation.outcome() == Operation.Outcome.DONE) {
                check(operation, acknowledged, deletions, puts, faults);
            }
        }
    }

    private static void check(Operation read, List<Operation> acknowledged, List<Operation> deletions,
            Map<String, Operation> puts, List<String> faults) {
        Operation latest = null;
        for (Operation write : acknowledged) {
            if (write.endNanos() < read.startNanos() && (latest == null || write.startNanos() > latest.startNanos())) {
                latest = write;
            }
        }
        if (read.value() == null) {
            // Nothing was there from the beginning, or some deletion was seen.
            boolean explained = latest == null;
            for (Operation deletion : deletions) {
                explained |= deletion.startNanos() <= read.endNanos()
                        && (latest == null || deletion.stampedByNanos() >= latest.startNanos());
            }
            if (!explained) {
                faults.add("lost: " + read + " found nothing after " + latest);
            }
            return;
        }
        Operation seen = puts.get(read.value());
        if (seen == null) {
            faults.add("invented: " + read + " saw a value that nobody wrote");
        } else if (seen.startNanos() > read.endNanos()) {
            faults.add("foreseen: " + read + " saw " + seen + ", which had not begun");
        } else if (latest != null && seen.stampedByNanos() < latest.startNanos()) {
            faults.add((latest.kind() == Operation.Kind.DELETE ? "resurrected: " : "lost: ") + read + " saw " + seen
                    + " after " + latest);
        }
    }
}
