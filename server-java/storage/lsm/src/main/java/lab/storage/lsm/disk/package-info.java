/** Changes of files, and the encoding of numbers in them. */
package lab.storage.lsm.disk;
