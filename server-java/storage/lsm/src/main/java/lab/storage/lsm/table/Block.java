package lab.storage.lsm.table;

import static lab.storage.lsm.disk.Encoding.BYTE;
import static lab.storage.lsm.disk.Encoding.INT;

import java.lang.foreign.MemorySegment;
import lab.storage.lsm.entry.Keys;
import lab.storage.lsm.memory.NativeBuffer;

/** Reads the contents of a block: values, then keys, then restarts. */
final class Block {

    private static final int SEVEN = 7;
    private static final int LOW = 0x7f;

    private Block() {
    }

    /**
     * Looks a key up, without putting together any key of the block: it is enough to know how many bytes the wanted key
     * shares with the key before. One that shares more with its neighbour is smaller still, one that shares fewer is
     * already greater.
     *
     * @param start first byte of the contents
     * @param end   byte after the last one
     */
    static boolean find(MemorySegment data, long start, long end, Lookup lookup) {
        byte[] key = lookup.key;
        int keyLength = lookup.keyLength;
        long keys = start + data.get(INT, end - TableFormat.CONTENTS_TAIL_BYTES);
        int restarts = data.get(INT, end - Integer.BYTES);
        long restartsAt = end - TableFormat.CONTENTS_TAIL_BYTES - (long) restarts * TableFormat.RESTART_BYTES;
        int restart = restarts == 1 ? 0 : restartFor(data, keys, restartsAt, restarts, key, keyLength);
        long at = keys + data.get(INT, restartsAt + (long) restart * TableFormat.RESTART_BYTES);
        long value = start + data.get(INT, restartsAt + (long) restart * TableFormat.RESTART_BYTES + Integer.BYTES);
        long limit = restart + 1 == restarts ? restartsAt
                : keys + data.get(INT, restartsAt + (restart + 1L) * TableFormat.RESTART_BYTES);
        int matched = 0;
        while (at < limit) {
            int shared = data.get(BYTE, at++);
            if (shared < 0) {
                shared = rest(data, at, shared);
                at += bytes(shared) - 1;
            }
            int own = data.get(BYTE, at++);
            if (own < 0) {
                own = rest(data, at, own);
                at += bytes(own) - 1;
            }
            int valueCode = data.get(BYTE, at++);
            if (valueCode < 0) {
                valueCode = rest(data, at, valueCode);
                at += bytes(valueCode) - 1;
            }
            if (shared < matched) {
                return false;
            }
            if (shared == matched) {
                int same = Keys.shared(data, at, own, key, matched, keyLength - matched);
                matched += same;
                if (same == own) {
                    if (matched == keyLength) {
                        lookup.found(data, value, valueCode - 1);
                        return true;
                    }
                } else if (matched == keyLength
                        || (data.get(BYTE, at + same) & 0xff) > (key[matched] & 0xff)) {
                    return false;
                }
            }
            at += own;
            value += Math.max(0, valueCode - 1);
        }
        return false;
    }

    /** The last restart whose key is not greater, or the first one. */
    static int restartFor(MemorySegment data, long keys, long restartsAt, int restarts, byte[] key, int keyLength) {
        int low = 1;
        int high = restarts;
        while (low < high) {
            int middle = (low + high) >>> 1;
            // The key shares nothing, which takes one byte.
            long at = keys + data.get(INT, restartsAt + (long) middle * TableFormat.RESTART_BYTES) + 1;
            int length = varint(data, at);
            at += bytes(length);
            at += bytes(varint(data, at));
            if (Keys.compare(data, at, length, key, 0, keyLength) <= 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low - 1;
    }

    /** Reads a number written by {@link NativeBuffer#addVarint}. */
    static int varint(MemorySegment data, long at) {
        int first = data.get(BYTE, at);
        return first >= 0 ? first : rest(data, at + 1, first);
    }

    /** The whole number when its first byte says that more follow. */
    private static int rest(MemorySegment data, long from, int first) {
        int value = first & LOW;
        int shift = SEVEN;
        long at = from;
        while (true) {
            int next = data.get(BYTE, at++);
            value |= (next & LOW) << shift;
            if (next >= 0 || shift > Integer.SIZE) {
                return value;
            }
            shift += SEVEN;
        }
    }

    /** Bytes that a number takes. */
    static int bytes(int value) {
        return value == 0 ? 1 : (Integer.SIZE - Integer.numberOfLeadingZeros(value) + SEVEN - 1) / SEVEN;
    }
}
