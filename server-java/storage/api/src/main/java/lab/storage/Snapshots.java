package lab.storage;

/** Keeps a moment of the store readable; for engines that can. */
public interface Snapshots {

    /** Opens a snapshot of this moment: every write that was acknowledged before is in it, and none that comes later. */
    Snapshot snapshot();
}
