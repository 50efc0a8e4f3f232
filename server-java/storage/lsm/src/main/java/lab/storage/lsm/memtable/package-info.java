/** The sorted writes that are not in tables yet. */
package lab.storage.lsm.memtable;
