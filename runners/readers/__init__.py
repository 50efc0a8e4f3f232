"""Raw files of a run to typed frames. Starts no process, opens no socket."""
