package lab.storage.lsm.table;

import io.airlift.compress.v3.Compressor;
import io.airlift.compress.v3.Decompressor;
import io.airlift.compress.v3.lz4.Lz4JavaCompressor;
import io.airlift.compress.v3.lz4.Lz4JavaDecompressor;
import io.airlift.compress.v3.zstd.ZstdJavaCompressor;
import io.airlift.compress.v3.zstd.ZstdJavaDecompressor;
import java.util.function.Supplier;

/** How blocks of tables are packed. The code is what the block's tail says, so tables of different settings mix. */
public enum Compression {
    /** Not at all: a value is read where it is mapped. */
    NONE("none", 0, null, null),
    /** LZ4 block format. */
    LZ4("lz4", 1, Lz4JavaCompressor::new, Lz4JavaDecompressor::new),
    /** Zstandard frames. */
    ZSTD("zstd", 2, ZstdJavaCompressor::new, ZstdJavaDecompressor::new);

    private static final Compression[] BY_CODE = values();

    private final String flag;
    private final int code;
    private final Supplier<Compressor> compressor;
    private final Supplier<Decompressor> decompressor;

    Compression(String flag, int code, Supplier<Compressor> compressor, Supplier<Decompressor> decompressor) {
        this.flag = flag;
        this.code = code;
        this.compressor = compressor;
        this.decompressor = decompressor;
    }

    /** Returns the code that stands in a block. */
    public int code() {
        return code;
    }

    /** The one with this code, or null. */
    public static Compression ofCode(int code) {
        return code >= 0 && code < BY_CODE.length ? BY_CODE[code] : null;
    }

    /** For one thread. */
    public Compressor newCompressor() {
        return compressor.get();
    }

    /** For one thread. */
    public Decompressor newDecompressor() {
        return decompressor.get();
    }

    /** As written on the command line. */
    @Override
    public String toString() {
        return flag;
    }
}
