/** The write-ahead log: its format, its writer and its reader. */
package lab.storage.lsm.log;
