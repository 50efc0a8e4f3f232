/** Immutable sorted tables: their formats, writing, lookups and cursors. */
package lab.storage.lsm.table;
