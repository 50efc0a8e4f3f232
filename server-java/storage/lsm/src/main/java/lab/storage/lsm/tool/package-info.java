/** A command that shows, checks and repairs the folder of a store. */
package lab.storage.lsm.tool;
