package lab.server.cluster;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** MurmurHash3 of 32 bits for x86 by Austin Appleby, who put it into the public domain (SMHasher, MurmurHash3.cpp). */
final class MurmurHash3 {

    private static final VarHandle WORD = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
    private static final int C1 = 0xcc9e2d51;
    private static final int C2 = 0x1b873593;

    private MurmurHash3() {
    }

    static int hash32(byte[] bytes, int seed) {
        int hash = seed;
        int at = 0;
        for (; at + Integer.BYTES <= bytes.length; at += Integer.BYTES) {
            hash = Integer.rotateLeft(hash ^ mixed((int) WORD.get(bytes, at)), 13) * 5 + 0xe6546b64;
        }
        int tail = 0;
        for (int i = bytes.length - 1; i >= at; i--) {
            tail = tail << Byte.SIZE | bytes[i] & 0xff;
        }
        hash ^= mixed(tail) ^ bytes.length;
        hash = (hash ^ hash >>> 16) * 0x85ebca6b;
        hash = (hash ^ hash >>> 13) * 0xc2b2ae35;
        return hash ^ hash >>> 16;
    }

    private static int mixed(int word) {
        return Integer.rotateLeft(word * C1, 15) * C2;
    }
}
