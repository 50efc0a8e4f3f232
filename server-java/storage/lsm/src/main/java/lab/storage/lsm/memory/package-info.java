/** Memory outside the heap. */
package lab.storage.lsm.memory;
