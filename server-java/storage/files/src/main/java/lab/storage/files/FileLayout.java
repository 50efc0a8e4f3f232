package lab.storage.files;

import java.nio.file.Path;

/** Where the files of the keys lie. */
public enum FileLayout {
    /** All in one folder, as report 2 had it. */
    FLAT("flat", 0),
    /** Spread over 256 folders by a hash of the name, so that writers do not wait for one folder. */
    FANNED("fanned", 256);

    private final String label;
    private final int folders;

    FileLayout(String label, int folders) {
        this.label = label;
        this.folders = folders;
    }

    int folders() {
        return folders;
    }

    /** The folder with a number, below the root of the store. */
    Path folder(Path root, int number) {
        return root.resolve(String.format("%02x", number));
    }

    Path file(Path root, String name) {
        if (folders == 0) {
            return root.resolve(name);
        }
        int hash = name.hashCode();
        return folder(root, (hash ^ hash >>> 16) & folders - 1).resolve(name);
    }

    @Override
    public String toString() {
        return label;
    }
}
