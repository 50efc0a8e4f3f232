/** Merging of tables: which, when, and the thread that does it. */
package lab.storage.lsm.compaction;
