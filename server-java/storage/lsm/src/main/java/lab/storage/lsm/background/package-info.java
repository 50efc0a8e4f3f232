/** Threads of the background: their priority, their pace, and the one that keeps house. */
package lab.storage.lsm.background;
