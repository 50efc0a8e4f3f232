/** Entries in key order: keys, and cursors over entries. */
package lab.storage.lsm.entry;
