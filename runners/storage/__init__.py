"""Keep runs on disk: nothing else knows the name of a file in a run folder."""
