/** The settings of a store. */
package lab.storage.lsm.options;
