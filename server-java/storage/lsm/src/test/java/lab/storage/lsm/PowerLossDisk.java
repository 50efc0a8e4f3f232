package lab.storage.lsm;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.UUID;
import lab.storage.lsm.disk.Disk;

/**
 * A disk of which a loss of power leaves what was forced, and of the rest whatever chance leaves: of a file any of the
 * pages that were written since, of a folder any of the changes of names since, or, as journalling file systems have it,
 * the first so many of them. A force that fails leaves pages that later ones pass over. Nothing is really forced.
 */
final class PowerLossDisk extends Disk {

    private static final int PAGE_BYTES = 512;

    /** A file, whatever its name is. */
    private static final class Content {
        private Path path;
        /** What is certain to be there; null as long as nothing of it was forced. */
        private byte[] forced;
        /** What it had when a force failed: the kernel believes that it is on the disk, and does not write it again. */
        private byte[] dropped;
        /** What it had when its name was removed. */
        private byte[] last;

        void force() throws IOException {
            byte[] now = now();
            byte[] before = forced == null ? new byte[0] : forced;
            byte[] result = now.clone();
            for (int page = 0; dropped != null && page < now.length; page += PAGE_BYTES) {
                int end = Math.min(now.length, page + PAGE_BYTES);
                if (end <= dropped.length && Arrays.equals(now, page, end, dropped, page, end)) {
                    for (int at = page; at < end; at++) {
                        result[at] = at < before.length ? before[at] : 0;
                    }
                }
            }
            forced = result;
        }

        byte[] now() throws IOException {
            return last != null ? last : Files.readAllBytes(path);
        }
    }

    /** What happens before a change of the disk, which is counted from 0. */
    interface Before {
        void change(int number) throws IOException;
    }

    /** A name in a folder that was given to a file, or with null taken away. */
    private record Change(String name, Content content) {
    }

    private final Map<FileChannel, Content> open = new IdentityHashMap<>();
    private final Map<Path, Content> files = new HashMap<>();
    private final List<Change> changes = new ArrayList<>();
    private final boolean inOrder;
    private final String boot;
    private int certainChanges;
    private Before before = number -> { };
    private int operations;
    private int forces;
    private int failingForce;
    private String failingSuffix = "none";
    private boolean hasFailed;

    /**
     * @param folder  what is there now is on the disk
     * @param inOrder whether a name changes only after the names that were changed before it
     */
    PowerLossDisk(Path folder, boolean inOrder) throws IOException {
        this(folder, inOrder, UUID.randomUUID().toString());
    }

    private PowerLossDisk(Path folder, boolean inOrder, String boot) throws IOException {
        this.boot = boot;
        this.inOrder = inOrder;
        try (var entries = Files.newDirectoryStream(folder)) {
            for (Path file : entries) {
                Content content = add(file);
                content.forced = content.now();
            }
        }
        certainChanges = changes.size();
    }

    /** Has something done before each operation that changes the disk. */
    synchronized void before(Before action) {
        before = action;
    }

    private void operation() throws IOException {
        before.change(operations++);
    }

    /**
     * Kills the process and gives the disk as the next one finds it, in another folder: all that was written is there, but
     * only what was forced survives a loss of power.
     */
    synchronized PowerLossDisk kill(Path left) throws IOException {
        PowerLossDisk next = new PowerLossDisk(Files.createDirectories(left), inOrder, boot);
        Map<Content, Content> copies = new IdentityHashMap<>();
        for (Change change : changes) {
            Content copy = change.content == null ? null : copies.computeIfAbsent(change.content, PowerLossDisk::copy);
            next.changes.add(new Change(change.name, copy));
        }
        next.certainChanges = certainChanges;
        for (Map.Entry<Path, Content> file : files.entrySet()) {
            Content copy = copies.get(file.getValue());
            copy.path = left.resolve(file.getKey().getFileName());
            Files.write(copy.path, file.getValue().now());
            next.files.put(copy.path, copy);
        }
        return next;
    }

    private static Content copy(Content content) {
        Content copy = new Content();
        copy.forced = content.forced;
        copy.last = content.last;
        return copy;
    }

    @Override
    public String boot() {
        return boot;
    }

    private Content add(Path file) {
        Content content = new Content();
        content.path = file;
        files.put(file, content);
        changes.add(new Change(file.getFileName().toString(), content));
        return content;
    }

    @Override
    public synchronized FileChannel create(Path file) throws IOException {
        operation();
        setAside(file);
        FileChannel channel = super.create(file);
        open.put(channel, add(file));
        return channel;
    }

    @Override
    public synchronized FileChannel open(Path file) throws IOException {
        FileChannel channel = super.open(file);
        open.put(channel, files.get(file));
        return channel;
    }

    @Override
    public synchronized void write(FileChannel channel, ByteBuffer bytes, long position) throws IOException {
        operation();
        super.write(channel, bytes, position);
    }

    @Override
    public synchronized void truncate(Path file, long bytes) throws IOException {
        operation();
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.truncate(bytes);
        }
        files.get(file).forced = Files.readAllBytes(file);
    }

    @Override
    public synchronized void force(FileChannel channel) throws IOException {
        operation();
        Content content = open.get(channel);
        boolean fails = ++forces == failingForce || content.path.toString().replace(".tmp", "").endsWith(failingSuffix);
        if (fails) {
            hasFailed |= forces == failingForce;
            content.dropped = content.now();
            throw new IOException("Input/output error");
        }
        content.force();
    }

    /** Has the force with this number fail, counted from 1. Folders count too. */
    synchronized void failForce(int number) {
        failingForce = number;
    }

    /** Has all forces of files fail whose names end so. */
    synchronized void failToForce(String suffix) {
        failingSuffix = suffix;
    }

    /** Whether the force that was to fail has failed. */
    synchronized boolean forceHasFailed() {
        return hasFailed;
    }

    @Override
    public synchronized void forceFolder(Path folder) throws IOException {
        operation();
        if (++forces == failingForce) {
            hasFailed = true;
            throw new IOException("Input/output error");
        }
        certainChanges = changes.size();
    }

    @Override
    public synchronized void rename(Path from, Path to) throws IOException {
        operation();
        setAside(to);
        super.rename(from, to);
        Content content = files.remove(from);
        content.path = to;
        files.put(to, content);
        // One change, for a rename is one step.
        changes.add(new Change(to.getFileName().toString(), content));
    }

    @Override
    public synchronized void delete(Path file) throws IOException {
        operation();
        if (setAside(file)) {
            changes.add(new Change(file.getFileName().toString(), null));
        }
        super.delete(file);
    }

    /** Keeps what a file has that is about to lose its name; the change may not survive. */
    private boolean setAside(Path file) throws IOException {
        Content content = files.remove(file);
        if (content != null) {
            content.last = Files.readAllBytes(file);
        }
        return content != null;
    }

    /** Writes what is left when the power goes now into another folder. */
    synchronized void losePower(Path left, SplittableRandom random) throws IOException {
        int kept = certainChanges + random.nextInt(changes.size() - certainChanges + 1);
        Map<String, Content> names = new HashMap<>();
        for (int i = 0; i < changes.size(); i++) {
            Change change = changes.get(i);
            boolean survives = i < certainChanges || (inOrder ? i < kept : random.nextBoolean());
            if (!survives) {
                continue;
            }
            if (change.content == null) {
                names.remove(change.name);
            } else {
                names.values().remove(change.content);
                names.put(change.name, change.content);
            }
        }
        Files.createDirectories(left);
        for (Map.Entry<String, Content> name : names.entrySet()) {
            Files.write(left.resolve(name.getKey()), left(name.getValue(), random));
        }
    }

    private static byte[] left(Content content, SplittableRandom random) throws IOException {
        byte[] forced = content.forced == null ? new byte[0] : content.forced;
        byte[] now = content.now();
        int shorter = Math.min(forced.length, now.length);
        byte[] left = new byte[shorter + random.nextInt(Math.max(forced.length, now.length) - shorter + 1)];
        int share = random.nextInt(101);
        for (int page = 0; page < left.length; page += PAGE_BYTES) {
            byte[] source = random.nextInt(100) < share ? now : forced;
            int bytes = Math.min(PAGE_BYTES, left.length - page);
            System.arraycopy(source, Math.min(page, source.length), left, page,
                    Math.clamp(source.length - page, 0, bytes));
        }
        return left;
    }
}
