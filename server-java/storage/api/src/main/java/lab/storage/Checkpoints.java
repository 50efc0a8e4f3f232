package lab.storage;

import java.nio.file.Path;

/** Makes copies of the store that share its files; for engines that can. */
public interface Checkpoints {

    /**
     * Makes a store of its own in another folder, by hard links to files that never change, so that it costs little time
     * and no room until one of the two stores replaces its files. It holds the state at one moment of this call: every
     * write that was acknowledged before the call, and no write without the ones before it. It may be opened as soon as
     * this method returns and is on disk then; this store goes on meanwhile and afterwards.
     *
     * @param folder missing or empty, on the same file system as the store
     * @throws StorageException if it could not be made; the folder is then as it was
     */
    void checkpoint(Path folder);
}
