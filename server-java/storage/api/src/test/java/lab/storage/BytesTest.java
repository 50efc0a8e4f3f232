package lab.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

class BytesTest {

    @Test
    void comparesAsArraysOfUnsignedBytes() {
        Random random = new Random(1);
        try (Arena arena = Arena.ofConfined()) {
            for (int i = 0; i < 20_000; i++) {
                byte[] a = new byte[random.nextInt(12)];
                byte[] b = new byte[random.nextInt(12)];
                for (byte[] bytes : new byte[][] {a, b}) {
                    for (int at = 0; at < bytes.length; at++) {
                        bytes[at] = (byte) (random.nextInt(4) * 85);
                    }
                }
                int expected = Integer.signum(Arrays.compareUnsigned(a, b));
                MemorySegment nativeA = arena.allocate(a.length + 1L);
                MemorySegment.copy(MemorySegment.ofArray(a), 0, nativeA, 1, a.length);
                assertEquals(expected, Integer.signum(Bytes.compare(MemorySegment.ofArray(a),
                        MemorySegment.ofArray(b))));
                assertEquals(expected, Integer.signum(Bytes.compare(nativeA, 1, a.length + 1L,
                        MemorySegment.ofArray(b), 0, b.length)));
            }
        }
    }

    @Test
    void wholeArrayIsNotCopiedAndAPartIs() {
        byte[] array = {1, 2, 3};
        assertSame(array, Bytes.array(MemorySegment.ofArray(array)));
        byte[] part = Bytes.array(MemorySegment.ofArray(array).asSlice(1));
        assertNotSame(array, part);
        assertArrayEquals(new byte[] {2, 3}, part);
    }
}
