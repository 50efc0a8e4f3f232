package lab.storage.lsm;

import static lab.storage.Bytes.utf8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import lab.storage.lsm.disk.Disk;
import lab.storage.lsm.options.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a multi-get shares: one view for all keys, one read and check of a block for all keys in it. */
class MultiGetTest {

    private static final int KEYS = 1_000;
    private static final int ABSENT = KEYS;

    @TempDir
    private Path folder;

    /** What this thread uses; the threads of the store look into views and blocks whenever they like. */
    private final Thread own = Thread.currentThread();
    private int views;
    private int blocks;

    /** Each check of a block is a read of its file or of its mapping; a block is smaller than what is read at a time. */
    private final Disk counting = new Disk() {
        @Override
        public void read(FileChannel channel, ByteBuffer target, long from) throws IOException {
            if (Thread.currentThread() == own) {
                blocks++;
            }
            super.read(channel, target, from);
        }

        @Override
        public void read(MemorySegment mapped, ByteBuffer target, long from) {
            if (Thread.currentThread() == own) {
                blocks++;
            }
            super.read(mapped, target, from);
        }
    };

    private LsmStorage open(long cacheBytes) {
        LsmOptions options = LsmOptions.builder().compaction(LsmOptions.Compaction.OFF).cacheBytes(cacheBytes)
                .verifyChecksums(LsmOptions.VerifyChecksums.ALWAYS).build();
        return new LsmStorage(folder, options, counting, (active, frozen, held) ->
                new View(active, frozen, held, giveBack -> new Pins(giveBack) {
                    @Override
                    int enter() {
                        if (Thread.currentThread() == own) {
                            views++;
                        }
                        return super.enter();
                    }
                }));
    }

    private static MemorySegment key(int i) {
        return utf8(String.format("key%04d", i));
    }

    private static byte[] value(int i) {
        byte[] value = new byte[100];
        value[0] = (byte) i;
        return value;
    }

    private static void write(LsmStorage storage, int first, int step) {
        for (int i = first; i < KEYS; i += step) {
            storage.put(key(i), MemorySegment.ofArray(value(i)));
        }
        storage.flush();
    }

    private static void check(byte[] actual, int i) {
        assertArrayEquals(i == ABSENT ? null : value(i), actual, "key " + i);
    }

    /** Looks up by one call; gives the numbers of views and of blocks that it took. */
    private int[] several(LsmStorage storage, List<Integer> wanted) {
        views = 0;
        blocks = 0;
        byte[][] values = storage.get(wanted.stream().map(MultiGetTest::key).toList());
        int[] costs = {views, blocks};
        for (int i = 0; i < values.length; i++) {
            check(values[i], wanted.get(i));
        }
        return costs;
    }

    /** Looks up one by one. */
    private int[] single(LsmStorage storage, List<Integer> wanted) {
        views = 0;
        blocks = 0;
        wanted.forEach(i -> check(storage.get(key(i)), i));
        return new int[] {views, blocks};
    }

    @Test
    void keysInAnyOrderShareOneViewAndTheBlocksOfEachTable() {
        List<Integer> wanted = new ArrayList<>(IntStream.range(0, KEYS).boxed().toList());
        wanted.addAll(List.of(7, 7, ABSENT));
        Collections.shuffle(wanted, new Random(1));
        try (LsmStorage storage = open(0)) {
            write(storage, 0, 2);
            write(storage, 1, 2);
            assertEquals(2, storage.stats().tables());
            // Of the 1,003 keys some are looked for in the wrong table too, because its filter lets them pass.
            assertTrue(single(storage, wanted)[0] >= KEYS && single(storage, wanted)[1] >= KEYS);
            int blocksOnDisk = (int) (storage.stats().diskBytes() / 4096) + 2;
            int[] costs = several(storage, wanted);
            assertEquals(1, costs[0], "views");
            assertTrue(costs[1] > 20 && costs[1] <= blocksOnDisk, costs[1] + " blocks of " + blocksOnDisk);
        }
    }

    @Test
    void whatMemoryOrCacheHasTouchesNoBlock() {
        List<Integer> wanted = IntStream.range(0, 100).boxed().toList();
        try (LsmStorage storage = open(1 << 20)) {
            write(storage, 0, 1);
            single(storage, wanted);
            assertArrayEquals(new int[] {1, 0}, several(storage, wanted), "from the cache");
            for (int i = 100; i < 110; i++) {
                storage.put(key(i), MemorySegment.ofArray(value(i)));
            }
            assertArrayEquals(new int[] {1, 0}, several(storage, List.of(109, 100, 3, 105)), "from memory and cache");
        }
    }
}
