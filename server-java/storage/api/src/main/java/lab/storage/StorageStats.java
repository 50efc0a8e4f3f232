package lab.storage;

/**
 * Sizes of a store at one moment.
 *
 * @param entriesEstimate number of keys, as far as it is known without reading them; versions of one key that lie in
 *                        different tables may be counted more than once
 * @param memtableBytes   bytes that the entries in memory take, overhead included
 * @param tables          files that a read may have to look into
 * @param diskBytes       bytes of the data files
 */
public record StorageStats(long entriesEstimate, long memtableBytes, int tables, long diskBytes) {

    /** Of a store that holds nothing. */
    public static final StorageStats EMPTY = new StorageStats(0, 0, 0, 0);
}
