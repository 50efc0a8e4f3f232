package lab.storage.lsm.table;

/** Constants and encodings of a table file; {@code table_format.md} explains them. */
public final class TableFormat {

    /** "LABTABLE" read as a little-endian number. */
    static final long MAGIC = 0x454c42415442414cL;
    static final int VERSION = 2;

    /** A block is closed once it has this many bytes; one entry may make it larger. */
    public static final int BLOCK_BYTES = 4096;
    /** No block is larger, or its bytes are not what was written. */
    static final int MAX_BLOCK_BYTES = Integer.MAX_VALUE - 64;
    /** Each so many entries a key is written whole. */
    static final int RESTART_INTERVAL = 16;

    /** At the end of a block's contents: where its keys start, and number of restarts. */
    static final int CONTENTS_TAIL_BYTES = 8;
    static final int RESTART_BYTES = 8;
    /** After the contents: how they are packed, and the checksum. */
    static final int BLOCK_TAIL_BYTES = 5;

    /** At the start of the index: lengths of the first key, the last key, and the start that all keys share. */
    static final int INDEX_HEAD_BYTES = 12;

    /** The last fields have the same distance from the end in every version. */
    static final int VERSION_FROM_END = 20;
    static final int CHECKSUM_FROM_END = 12;
    static final int MAGIC_FROM_END = 8;

    static final int FOOTER_BYTES = 96;
    static final int FOOTER_INDEX_OFFSET = 0;
    static final int FOOTER_INDEX_LENGTH = 8;
    static final int FOOTER_FILTER_OFFSET = 16;
    static final int FOOTER_FILTER_LENGTH = 24;
    static final int FOOTER_ENTRIES = 32;
    static final int FOOTER_TOMBSTONES = 40;
    static final int FOOTER_OLD_ENTRIES = 48;
    static final int FOOTER_BLOCKS = 56;
    static final int FOOTER_INDEX_CHECKSUM = 64;
    static final int FOOTER_FILTER_CHECKSUM = 68;
    static final int FOOTER_FILTER_PROBES = 72;
    static final int FOOTER_VERSION = FOOTER_BYTES - VERSION_FROM_END;
    static final int FOOTER_CHECKSUM = FOOTER_BYTES - CHECKSUM_FROM_END;
    static final int FOOTER_MAGIC = FOOTER_BYTES - MAGIC_FROM_END;

    private TableFormat() {
    }
}
