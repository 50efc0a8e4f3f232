/** The folder of a store: the manifest that names its tables, its files, and recovery from its logs. */
package lab.storage.lsm.manifest;
